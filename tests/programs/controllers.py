"""Controllers: classes in the style of Java, with limits and integrals."""

from __future__ import annotations

from tests.programs import program


class Controller:
    def getOutput(self, error):
        raise NotImplementedError


class P(Controller):
    def __init__(self, kp):
        self.__kp = kp
        self._limit = 5.0

    def setLimit(self, limit):
        if limit > 0:
            self._limit = limit
        return self

    def getOutput(self, error):
        u = self.__kp * error
        return max(-self._limit, min(self._limit, u))


class PID(P):
    def __init__(self, kp, ki, kd):
        super().__init__(kp)
        self.ki, self.kd = ki, kd
        self.integral = 0.0
        self.last = None

    def getOutput(self, error):
        u = super().getOutput(error)
        saturated = abs(u) >= self._limit
        if not saturated:
            self.integral += error
        derivative = 0.0 if self.last is None else error - self.last
        self.last = error
        return u + self.ki * self.integral + self.kd * derivative


@program((3.0, 1.5), (-10.0, 0.5), (0.0, -1.0), grad=True)
def pid_loop(target, limit):
    pid = PID(0.8, 0.1, 0.05).setLimit(limit)
    y = 0.0
    crossings = 0
    for _ in range(12):
        e = target - y
        y += 0.3 * pid.getOutput(e)
        if (target - y) * e < 0:
            crossings += 1
    return y, crossings, pid.integral
