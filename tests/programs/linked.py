"""Linked lists and trees of objects, as courses on data structures write them, walked by the numbers in them."""

from __future__ import annotations

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


@program(([4, 7, 9, 12], 12), ([4, 7, 9, 12], 100), ([5, 1, 1, 1], 0), bare=BARE)
def sum_up_to(values, limit):
    node = linked(values)
    total = 0
    while node is not None and total < limit:
        total += node.value
        node = node.next
    return total


@program(([4, 7, 9, 12], 9), ([4, 7, 9, 12], 5), bare=BARE)
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


@program(([8, 4, 12, 2, 6, 10, 14], 6), ([8, 4, 12, 2, 6, 10, 14], 7), ([8, 4, 12, 2, 6, 10, 14], 8), bare=BARE)
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
