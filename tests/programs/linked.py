"""Linked lists and trees of objects, as courses on data structures write them, walked by the numbers in them."""

from __future__ import annotations

import numpy as np

from tests.programs import program

BARE = "a node that is read may be None, as far as is known while tracing"


class Node:
    def __init__(self, value, next=None):
        self.value = value
        self.next = next


def linked(values):
    head = None
    for value in reversed(values):
        head = Node(value, head)
    return head


def values_of(head):
    values = []
    while head is not None:
        values.append(head.value)
        head = head.next
    return values


@program(([4, 7, 9, 12], 12), ([4, 7, 9, 12], 100), ([5, 1, 1, 1], 0))
def sum_up_to(values, limit):
    node = linked(values)
    total = 0
    while node is not None and total < limit:
        total += node.value
        node = node.next
    return total


@program(([4, 7, 9, 12], 9), ([4, 7, 9, 12], 5))
def place_of(values, wanted):
    node, place = linked(values), 0
    while node is not None and node.value != wanted:
        node = node.next
        place += 1
    return place if node is not None else -1


@program(([4, 7, 9],), ([1],))
def reversed_in_place(values):
    node, previous = linked(values), None
    while node:
        following = node.next
        node.next = previous
        previous = node
        node = following
    return values_of(previous)


@program(([1, 2, 3, 4, 5],))
def middle(values):
    slow = fast = linked(values)
    while fast is not None and fast.next is not None:
        slow = slow.next
        fast = fast.next.next
    return slow.value


class Tree:
    def __init__(self, value, left=None, right=None):
        self.value = value
        self.left = left
        self.right = right


def tree_of(values, place=0):
    if place >= len(values):
        return None
    return Tree(values[place], tree_of(values, 2 * place + 1), tree_of(values, 2 * place + 2))


@program(([8, 4, 12, 2, 6, 10, 14], 6), ([8, 4, 12, 2, 6, 10, 14], 7), ([8, 4, 12, 2, 6, 10, 14], 8))
def depth_in_search_tree(values, wanted):
    node, depth = tree_of(values), 0
    while node is not None:
        if node.value == wanted:
            return depth
        node = node.left if wanted < node.value else node.right
        depth += 1
    return -1


@program(([8, 4, 12, 2, 6, 10, 14], 7), ([8, 4, 12, 2, 6, 10, 14], 1), ([8, 4, 12, 2, 6, 10, 14], 99))
def greatest_at_most(values, limit):
    node, best = tree_of(values), -1
    while node:
        if node.value <= limit:
            best = node.value
            node = node.right
        else:
            node = node.left
    return best


@program(([8, 4, 12, 2, 6],))
def in_order_with_a_stack(values):
    node, stack, found = tree_of(values), [], []
    while stack or node:
        while node:
            stack.append(node)
            node = node.left
        node = stack.pop()
        found.append(node.value)
        node = node.right
    return found


def weighed(node):
    total, weight = 0.0, 1.0
    while node is not None:
        total += weight * node.value
        weight *= 2.0
        node = node.next
    return total


@program(
    (np.array([4.0, -1.0, 7.0]), 0.0), (np.array([4.0, -1.0, 7.0]), 5.0), (np.array([4.0, -1.0, 7.0]), 9.0), grad=True
)
def appended(values, limit):
    first = last = Node(0.0)
    for value in values:
        if value > limit:
            last.next = Node(value)
            last = last.next
    return weighed(first.next)


@program((np.array([3.0, 1.0, 2.0]),), (np.array([1.0, 2.0, 3.0]),), (np.array([2.0, 5.0, -1.0]),), grad=True)
def inserted_in_order(values):
    first = Node(-100.0)
    for value in values:
        node = first
        while node.next is not None and node.next.value < value:
            node = node.next
        node.next = Node(value, node.next)
    return weighed(first.next)


@program(([3, 1, 2, 1], 1), ([3, 1, 2, 1], 3), ([3, 1, 2, 1], 9))
def without(values, unwanted):
    first = Node(0, linked(values))
    before, node = first, first.next
    while node is not None:
        if node.value == unwanted:
            before.next = node.next
        else:
            before = node
        node = node.next
    return weighed(first.next)


@program(([1, 4, 6], [2, 3, 9]), ([1, 2, 3], [4, 5, 6]), ([4, 5, 6], [1, 2, 3]), bare=BARE)
def merged(ones, others):
    one, other = linked(ones), linked(others)
    first = last = Node(0)
    while one is not None and other is not None:
        if one.value <= other.value:
            last.next = one
            one = one.next
        else:
            last.next = other
            other = other.next
        last = last.next
    last.next = one if one is not None else other
    return weighed(first.next)


@program(([3.0, 1.0, 2.0],), ([1.0, 2.0, 3.0],), ([2.0, 2.0, 1.0],), bare=BARE)
def sorted_by_links(values):
    node, first = linked(values), None
    while node is not None:
        rest = node.next
        if first is None or node.value <= first.value:
            node.next = first
            first = node
        else:
            at = first
            while at.next is not None and at.next.value < node.value:
                at = at.next
            node.next = at.next
            at.next = node
        node = rest
    return weighed(first)


class SearchTree:
    def __init__(self):
        self.root = None
        self.size = 0

    def insert(self, value):
        if self.root is None:
            self.root = Tree(value)
        else:
            node = self.root
            while True:
                if value == node.value:
                    return False
                if value < node.value:
                    if node.left is None:
                        node.left = Tree(value)
                        break
                    node = node.left
                else:
                    if node.right is None:
                        node.right = Tree(value)
                        break
                    node = node.right
        self.size += 1
        return True

    def __contains__(self, value):
        node = self.root
        while node is not None:
            if node.value == value:
                return True
            node = node.left if value < node.value else node.right
        return False


@program((np.array([5, 2, 8, 2]), 8), (np.array([1, 2, 3, 4]), 9), (np.array([4, 3, 3, 4]), 3))
def search_tree(values, wanted):
    tree = SearchTree()
    for value in values:
        tree.insert(value)
    return tree.size, wanted in tree


class Stack:
    def __init__(self):
        self.top = None
        self.size = 0

    def push(self, value):
        self.top = Node(value, self.top)
        self.size += 1

    def pop(self):
        value = self.top.value
        self.top = self.top.next
        self.size -= 1
        return value


@program((np.array([1.0, -1.0, 3.0, 2.0]),), (np.array([-1.0, 2.0, -1.0, -1.0]),), (np.array([1.0, 2.0, 3.0, 4.0]),))
def pushed_and_popped(values):
    stack, popped = Stack(), 0.0
    for value in values:
        if value > 0:
            stack.push(value)
        elif stack.top is not None:
            popped = 10 * popped + stack.pop()
    return popped, stack.size, weighed(stack.top)


class Queue:
    def __init__(self):
        self.first = self.last = None

    def put(self, value):
        node = Node(value)
        if self.last is None:
            self.first = node
        else:
            self.last.next = node
        self.last = node

    def get(self):
        value = self.first.value
        self.first = self.first.next
        if self.first is None:
            self.last = None
        return value


@program((np.array([1.0, 2.0, -1.0]),), (np.array([-1.0, 2.0, 3.0]),), (np.array([2.0, -1.0, 3.0]),))
def put_and_got(values):
    queue, got = Queue(), 0.0
    for value in values:
        if value > 0:
            queue.put(value)
        elif queue.first is not None:
            got = 10 * got + queue.get()
    return got, weighed(queue.first), queue.last is None


class Double:
    def __init__(self, value):
        self.value = value
        self.prev = None
        self.next = None


@program(([3, 1],), ([2, 2],), ([9, 3],), ([1, 2],))
def most_recently_used(keys):
    first, last = Double(0), Double(4)
    nodes = [first, Double(1), Double(2), Double(3), last]
    for one, other in zip(nodes, nodes[1:], strict=False):
        one.next, other.prev = other, one
    for key in keys:
        node = first.next
        while node is not last and node.value != key:
            node = node.next
        if node is not last:
            node.prev.next, node.next.prev = node.next, node.prev
            node.next, node.prev = first.next, first
            first.next.prev = node
            first.next = node
    return weighed(first.next), last.prev.value


@program(([5, -1, 7, 8],), ([5, 6, -1, 8],), ([-1, 5, -1, 6],), bare=BARE)
def free_nodes(values):
    free, used = linked([0, 0, 0, 0]), None
    for value in values:
        if value > 0:
            node, free = free, free.next
            node.value, node.next, used = value, used, node
        elif used is not None:
            node, used = used, used.next
            node.next, free = free, node
    return weighed(used), weighed(free)


@program(([1, 2, 3], 0), ([1, 2, 3], 2), ([1, 2, 3], 5), bare=BARE)
def has_a_cycle(values, back):
    first = linked(values)
    last = first.next.next
    if back == 0:
        last.next = first
    elif back == 2:
        last.next = last
    slow = fast = first
    while fast is not None and fast.next is not None:
        slow, fast = slow.next, fast.next.next
        if slow is fast:
            return True
    return False
