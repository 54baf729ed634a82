# Two real processes of the controller before one world: when one hangs, drips, is stopped or killed, the other takes
# over, and nothing is done twice.
import http.server
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest

from support import PROGRAM
from world import World, call_of, clouds, metadata

RUN = """
import sys, runpy
program, port, blind, folder = sys.argv[1:5]
sys.path.insert(0, program)
import api, aws, duties, web
near = lambda timeout=10.0, silence=None: web.Web(f"http://127.0.0.1:{port}", None, timeout, silence)
api.Api.web = lambda self, timeout=None, silence=None: near(timeout or self.timeout, silence)
aws.Web = lambda origin, timeout=10.0: near(timeout)
duties.BLIND = int(blind)
sys.argv[1:] = [folder, folder + "/metrics"]
runpy.run_path(program + "/__main__.py", run_name="__main__")
"""
EVENT = "POST /apis/events.k8s.io/v1/namespaces/default/events"


class Machine:
    # One process, its server before the world, and what is wrong with its calls.
    def __init__(self, world, name, lock):
        self.world, self.name, self.lock, self.faults = world, name, lock, {}
        self.lease = types.SimpleNamespace(fresh=lambda: True)
        self.fake = clouds.Amazon(world, lambda *call: world.change(self, *call))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"one": self}))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.port, self.folder = server.server_port, tempfile.mkdtemp()
        self.start()

    def start(self):
        with open(f"{self.folder}/metrics", "w"), open(f"{self.folder}/log", "a") as log:
            env = {**clouds.SETTINGS, "CLOUD": "aws", "API_PORT": "1", "NODE_NAME": self.name, "PATH": os.environ["PATH"]}
            args = [sys.executable, "-S", "-B", "-c", RUN, PROGRAM, str(self.port), "15", self.folder]
            self.process = subprocess.Popen(args, env=env, stderr=log)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do(self):
        one, body = self.one, self.rfile.read(int(self.headers.get("Content-Length", 0)))
        cloud = self.path == "/"
        call = call_of("amazonaws" if cloud else "", self.command, self.path, body)
        fault = one.faults.get(call) or one.faults.get("amazonaws" if cloud else "")
        if fault == "hang":
            return time.sleep(60)
        if fault == "stop":
            one.faults.clear()
            one.process.send_signal(signal.SIGSTOP)
        with one.lock:
            if cloud:
                status, _, data = one.fake.ask(self.command, self.path, None, body)
            elif self.path.startswith("/latest"):
                status, data = 200, metadata(self.path).encode()
            else:
                status, answer = one.world.api(one, self.command, self.path, json.loads(body or b"{}"))
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        if fault == "list":
            one.faults.clear()
            data = b"[]"
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        try:
            for at in range(0 if fault == "drip" else len(data), len(data)):
                self.wfile.write(data[at : at + 1])
                time.sleep(2)
            self.wfile.write(b"" if fault == "drip" else data)
        except OSError:
            pass

    do_GET = do_POST = do_PUT = do_DELETE = do

    def log_message(self, *_):
        pass


class Processes(unittest.TestCase):
    def setUp(self):
        self.world, lock = World(1, False), threading.Lock()
        began = time.monotonic()
        self.world.clock.own = lambda: time.monotonic() - began
        self.world.clock.wall = time.time
        for name, node in self.world.nodes.items():
            self.world.nodes[name] = node._replace(since=time.time() - 9000)
        self.machines = [Machine(self.world, f"cp-{index}", lock) for index in range(2)]

    def tearDown(self):
        for one in self.machines:
            one.process.kill()
            one.process.wait()
        self.assertEqual(self.world.harm, [])

    def leader(self):
        spec = self.world.objects.get("leases/fenestra-node-controller", {}).get("spec", {})
        return next((one for one in self.machines if spec.get("holderIdentity", "").split("_")[0] == one.name), None)

    def until(self, what, seconds=150):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := what():
                return found
            time.sleep(0.2)
        self.fail("\n".join(open(f"{one.folder}/log").read() for one in self.machines))

    def follows(self, fault):
        first = self.until(self.leader)
        self.until(lambda: self.world.objects.get("configmaps/fenestra-machines"))
        fault(first)
        return first, self.until(lambda: self.leader() not in (None, first) and self.leader())

    def test_a_cloud_that_hangs_or_drips(self):
        for fault in ("hang", "drip"):
            first, _ = self.follows(lambda one, fault=fault: one.faults.update(amazonaws=fault))
            self.assertIsNone(first.process.poll(), "it is not ended for it")
            first.faults.clear()

    def test_a_list_of_requests_that_drips(self):
        def restart(one):
            one.faults["GET /apis/certificates.k8s.io/v1/certificatesigningrequests"] = "drip"
            one.faults["WATCH /apis/certificates.k8s.io/v1/certificatesigningrequests"] = "hang"

        self.machines[0].process.kill()
        restart(self.machines[0])
        self.machines[0].start()
        self.until(lambda: self.leader() is self.machines[1])

    def test_a_lease_that_is_answered_with_a_list_once(self):
        for one in self.machines:
            one.faults["GET /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/fenestra-node-controller"] = "list"
        self.until(lambda: not any(one.faults for one in self.machines))
        self.until(self.leader, 60)

    def test_one_that_is_killed(self):
        def kill(one):
            one.process.kill()
            one.process.wait()
            one.start()

        self.follows(kill)

    def test_one_that_is_stopped_before_its_deed(self):
        first, name = self.until(self.leader), sorted(self.world.nodes)[0]
        ended = next(iter(self.world.machines))
        first.faults[EVENT] = "stop"
        self.world.machines[ended] = self.world.machines[ended]._replace(state="gone")
        self.world.ends[ended] = time.time()
        self.until(lambda: not first.faults)
        self.world.machines[ended] = self.world.machines[ended]._replace(state="running")
        self.until(lambda: self.leader() is not first)
        first.process.send_signal(signal.SIGCONT)
        time.sleep(10)
        self.assertIn(name, self.world.nodes)


if __name__ == "__main__":
    unittest.main(failfast=True)
