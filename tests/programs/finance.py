"""Money: loans, prices, portfolios."""

from __future__ import annotations

import math
from collections import namedtuple
from dataclasses import dataclass

import numpy as np

from tests.programs import program


@program((10000.0, 0.06, 950.0), (5000.0, 0.12, 700.0), (10000.0, 0.12, 50.0))
def months_to_pay_back(loan, yearly_rate, payment):
    rate = yearly_rate / 12
    balance = loan
    interest_paid = 0.0
    month = 0
    if payment <= balance * rate:
        return -1, float("inf")
    while balance > 0:
        interest = balance * rate
        interest_paid += interest
        balance += interest
        if balance < payment:
            balance = 0
        else:
            balance -= payment
        month += 1
        if month == 600:
            break
    return month, interest_paid


@program(([-1000.0, 300.0, 420.0, 680.0],), ([-500.0, 100.0, 100.0, 450.0],))
def internal_rate_of_return(flows):
    def npv(rate):
        return sum(cash / (1 + rate) ** year for year, cash in enumerate(flows))

    low, high = -0.9, 1.0
    if npv(low) * npv(high) > 0:
        return None
    for _ in range(100):
        middle = (low + high) / 2
        value = npv(middle)
        if abs(value) < 1e-8:
            break
        if npv(low) * value < 0:
            high = middle
        else:
            low = middle
    return middle


@program((100.0, 100.0, 0.05, 0.2, 1.0), (90.0, 100.0, 0.01, 0.4, 0.5), grad=True)
def american_put(spot, strike, rate, volatility, years):
    """A binomial tree of Cox, Ross and Rubinstein."""
    steps = 12
    dt = years / steps
    up = math.exp(volatility * math.sqrt(dt))
    down = 1 / up
    p = (math.exp(rate * dt) - down) / (up - down)
    discount = math.exp(-rate * dt)
    values = []
    for i in range(steps + 1):
        price = spot * up**i * down ** (steps - i)
        values.append(max(strike - price, 0.0))
    early = 0
    for level in range(steps - 1, -1, -1):
        for i in range(level + 1):
            hold = discount * (p * values[i + 1] + (1 - p) * values[i])
            exercise = strike - spot * up**i * down ** (level - i)
            if exercise > hold:
                values[i] = exercise
                early += 1
            else:
                values[i] = hold
    return values[0], early


def normal_cdf(x):
    return 0.5 * (1 + math.erf(x / math.sqrt(2)))


@program((10.45, 100.0, 100.0, 1.0, 0.05), (3.2, 90.0, 100.0, 0.5, 0.01), (0.0001, 50.0, 100.0, 0.1, 0.0))
def implied_volatility(price, spot, strike, years, rate):
    sigma = 0.2
    status = "not converged"
    for attempt in range(30):
        d1 = (math.log(spot / strike) + (rate + sigma**2 / 2) * years) / (sigma * math.sqrt(years))
        d2 = d1 - sigma * math.sqrt(years)
        call = spot * normal_cdf(d1) - strike * math.exp(-rate * years) * normal_cdf(d2)
        vega = spot * math.sqrt(years) * math.exp(-d1 * d1 / 2) / math.sqrt(2 * math.pi)
        difference = call - price
        if abs(difference) < 1e-9:
            status = "ok"
            break
        if vega < 1e-10:
            status = "flat"
            break
        sigma = max(0.01, sigma - difference / vega)
    return sigma, status


Trade = namedtuple("Trade", "side quantity price")


@program(
    (np.array([1, 1, -1, 1, -1]), np.array([10.0, 5.0, 8.0, 4.0, 11.0]), np.array([100.0, 110.0, 120.0, 90.0, 95.0])),
    (np.array([1, -1, 1, -1, -1]), np.array([3.0, 2.0, 4.0, 5.0, 1.0]), np.array([10.0, 12.0, 11.0, 9.0, 8.0])),
)
def profit_first_in_first_out(sides, quantities, prices):
    trades = [Trade(s, q, p) for s, q, p in zip(sides, quantities, prices)]
    lots = []
    realised = 0.0
    short = False
    for trade in trades:
        if trade.side > 0:
            lots.append([trade.quantity, trade.price])
            continue
        left = trade.quantity
        for lot in lots:
            if left <= 0:
                break
            sold = min(left, lot[0])
            realised += sold * (trade.price - lot[1])
            lot[0] -= sold
            left -= sold
        if left > 0:
            short = True
    stock = sum(lot[0] for lot in lots)
    return realised, stock, short


@program(([100.0, 102.0, 101.0, 105.0, 98.0, 97.0, 103.0, 110.0],), ([10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0],))
def moving_average_crossing(prices):
    position = 0
    cash = 1000.0
    shares = 0.0
    signals = []
    for day in range(len(prices)):
        if day < 3:
            signals.append("wait")
            continue
        fast = sum(prices[day - 1 : day + 1]) / 2
        slow = sum(prices[day - 3 : day + 1]) / 4
        if fast > slow and position == 0:
            shares = cash / prices[day]
            cash = 0.0
            position = 1
            signals.append("buy")
        elif fast < slow and position == 1:
            cash = shares * prices[day]
            shares = 0.0
            position = 0
            signals.append("sell")
        else:
            signals.append("hold")
    return cash + shares * prices[-1], signals.count("buy"), signals[-1]


@program(
    ([100.0, 120.0, 90.0, 80.0, 130.0, 125.0],),
    ([5.0, 4.0, 3.0, 2.0, 1.0, 0.5],),
    ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0],),
    grad=True,
)
def maximum_drawdown(prices):
    peak = prices[0]
    worst = 0.0
    peak_day = trough_day = 0
    day_of_peak = 0
    for day, price in enumerate(prices):
        if price > peak:
            peak = price
            day_of_peak = day
        drawdown = (peak - price) / peak
        if drawdown > worst:
            worst = drawdown
            peak_day, trough_day = day_of_peak, day
    return worst, peak_day, trough_day


BRACKETS = [(0, 0.0), (10000, 0.1), (30000, 0.2), (80000, 0.4)]


@program((25000.0, 0, False), (95000.0, 2, True), (5000.0, 1, False))
def income_tax(income, children, married):
    taxable = income - 2000 * children
    if married:
        taxable = taxable / 2
    if taxable < 0:
        taxable = 0
    tax = 0.0
    for i, (start, rate) in enumerate(BRACKETS):
        end = BRACKETS[i + 1][0] if i + 1 < len(BRACKETS) else None
        if taxable <= start:
            break
        if end is None or taxable < end:
            tax += (taxable - start) * rate
        else:
            tax += (end - start) * rate
    if married:
        tax *= 2
    marginal = 0.0
    for start, rate in reversed(BRACKETS):
        if taxable > start:
            marginal = rate
            break
    return round(tax, 2), marginal


@dataclass
class Account:
    balance: float
    overdrawn: int = 0

    def withdraw(self, amount):
        if amount > self.balance + 100:
            raise ValueError("limit exceeded")
        self.balance -= amount
        if self.balance < 0:
            self.overdrawn += 1

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("nothing to deposit")
        self.balance += amount


@program(([50.0, -120.0, 30.0, -200.0],), ([-90.0, -5.0, -50.0, 10.0],))
def bank(transactions):
    account = Account(100.0)
    refused = 0
    for amount in transactions:
        try:
            if amount < 0:
                account.withdraw(-amount)
            else:
                account.deposit(amount)
        except ValueError:
            refused += 1
    fee = 2.5 * account.overdrawn
    account.balance -= fee
    return account.balance, refused, account.overdrawn


@program(
    (
        np.array([0.4, 0.4, 0.2]),
        np.array([[0.01, 0.03, -0.02], [0.02, -0.05, 0.01], [-0.01, 0.02, 0.03], [0.03, 0.04, 0.0]]),
    ),
    (np.array([0.8, 0.1, 0.1]), np.array([[0.2, 0.0, -0.2], [0.2, -0.5, 0.1], [-0.1, 0.2, 0.3], [0.3, 0.4, 0.0]])),
    grad=True,
)
def rebalanced_portfolio(target, returns):
    """Back to the target weights whenever one is off by more than a tenth of it."""
    values = [100 * w for w in target]
    trades = 0
    cost = 0.0
    for day in returns:
        for k in range(3):
            values[k] *= 1 + day[k]
        total = sum(values)
        off = False
        for k in range(3):
            weight = values[k] / total
            if abs(weight - target[k]) > 0.1 * target[k]:
                off = True
        if off:
            turnover = sum(abs(values[k] - total * target[k]) for k in range(3))
            fee = 0.001 * turnover
            cost += fee
            total -= fee
            values = [total * target[k] for k in range(3)]
            trades += 1
    return sum(values), cost, trades
