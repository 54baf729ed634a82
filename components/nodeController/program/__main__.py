# The node controller: who is a machine, and is it well. Runs on every control-plane machine; one of them acts.
import os
import signal
import socket
import sys
import threading
import time

from api import Api, Feed
from controller import Controller
from lease import RENEW, Lease
from status import Board

# Seconds between turns, and of this process: it ends before its certificate, and systemd starts it with a new one.
TURN, LIFE = 1.0, 3 * 24 * 3600


class Clock:
    wall = staticmethod(time.time)

    @staticmethod
    def own():
        # Goes on while the machine is frozen.
        return time.clock_gettime(time.CLOCK_BOOTTIME)


def log(text):
    print(text.replace("\n", " ")[:1000], file=sys.stderr, flush=True)


def notify(text):
    # sd_notify(3): without a socket nobody waits for it.
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address[:1] in ("/", "@"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
            to.connect(address.replace("@", "\0", 1))
            to.sendall(text.encode())


def writer(path):
    # The file alone is this user's: it is empty at the start, and every text has one length.
    def write(text):
        with open(path, "r+b", buffering=0) as file:
            file.write(text.encode())

    return write


def renew(lease, ending):
    # In a thread of its own: a list of the cloud may take long.
    while not ending.wait(RENEW):
        lease.turn(log)


def main():
    env = os.environ
    ending = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ending.set())
    api = Api(f"https://127.0.0.1:{env['API_PORT']}", sys.argv[1])
    if env["CLOUD"] == "azure":
        from azure import Azure as Cloud
    else:
        from aws import Aws as Cloud
    identity, clock = f"{env['NODE_NAME']}_{os.getpid()}_{int(time.time())}", Clock()
    lease, feed = Lease(api, identity, clock), Feed(api, log)
    count = len(env["MEMBER_ADDRESSES"].split())
    never = frozenset(f"{env['CLUSTER']}-cp-{index}" for index in range(count))
    controller = Controller(api, Cloud(env), feed, lease, Board(api, clock, identity), clock, log, never, writer(sys.argv[2]))
    threads = [threading.Thread(target=feed.run, name="requests", daemon=True)]
    threads.append(threading.Thread(target=renew, args=(lease, ending), name="lease", daemon=True))
    for thread in threads:
        thread.start()
    notify("READY=1")
    controller.beat = lambda: notify("WATCHDOG=1")
    began, dead = clock.own(), []
    while not ending.is_set() and not dead and clock.own() - began < LIFE:
        controller.step()
        controller.beat()
        feed.news.wait(TURN)
        feed.news.clear()
        # Requests come in bursts.
        ending.wait(0.2)
        # No error ends a thread: who is not there cannot be trusted to come back.
        dead = [thread.name for thread in threads if not thread.is_alive()]
    ending.set()
    lease.release()
    if dead:
        sys.exit(f"the thread for {dead[0]} is gone")


main()
