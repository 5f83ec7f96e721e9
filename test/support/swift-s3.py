"""OpenStack Swift with its S3 interface, all of it in one process: /usr/bin/python3 swift-s3.py FOLDER PORT

It says "ready" when it answers at http://127.0.0.1:PORT. The key is test:user, its secret testing.
"""

import os
import sys

import eventlet

eventlet.monkey_patch()

from eventlet import wsgi  # noqa: E402
from swift.account.server import AccountController  # noqa: E402
from swift.common import utils  # noqa: E402
from swift.common.ring.builder import RingBuilder  # noqa: E402
from swift.common.wsgi import loadapp  # noqa: E402
from swift.container.server import ContainerController  # noqa: E402
from swift.obj.server import ObjectController  # noqa: E402

folder, port = sys.argv[1], int(sys.argv[2])

PROXY = """
[DEFAULT]
swift_dir = %(folder)s
[pipeline:main]
pipeline = catch_errors gatekeeper listing_formats s3api tempauth copy slo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
node_timeout = 60
recoverable_node_timeout = 60
conn_timeout = 10
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:s3api]
use = egg:swift#s3api
s3_acl = false
min_segment_size = 1
[filter:tempauth]
use = egg:swift#tempauth
user_test_user = testing .admin
[filter:copy]
use = egg:swift#copy
[filter:slo]
use = egg:swift#slo
"""


class NoCache:
    """What is asked for is never there."""

    def get(self, *_args, **_options):
        return None

    def set(self, *_args, **_options):
        return None

    def delete(self, *_args, **_options):
        return None

    def incr(self, *_args, **_options):
        return 1


def with_cache(app):
    cache = NoCache()

    def answer(env, start_response):
        env["swift.cache"] = cache
        return app(env, start_response)

    return answer


def serve(listener, app):
    eventlet.spawn(wsgi.server, listener, app, log=open(os.devnull, "w"), log_output=False, max_size=1024)


def write(name, text):
    with open(os.path.join(folder, name), "w") as file:
        file.write(text)


write("swift.conf", "[swift-hash]\nswift_hash_path_suffix = tests\n[storage-policy:0]\nname = one\ndefault = yes\n")
write("proxy-server.conf", PROXY % {"folder": folder})
os.makedirs(os.path.join(folder, "devices", "d"), exist_ok=True)
utils.set_swift_dir(folder)

conf = {
    "swift_dir": folder,
    "devices": os.path.join(folder, "devices"),
    "mount_check": "false",
    "disable_fallocate": "true",
}
logger = utils.get_logger(conf, log_route="tests")
for name, controller in [
    ("account", AccountController),
    ("container", ContainerController),
    ("object", ObjectController),
]:
    listener = eventlet.listen(("127.0.0.1", 0))
    own_port = listener.getsockname()[1]
    ring = RingBuilder(1, 1, 0)
    ring.add_dev({"id": 0, "region": 1, "zone": 1, "ip": "127.0.0.1", "port": own_port,
                  "replication_ip": "127.0.0.1", "replication_port": own_port, "device": "d", "weight": 1.0})
    ring.rebalance()
    ring.get_ring().save(os.path.join(folder, name + ".ring.gz"))
    serve(listener, controller(conf, logger))

front = eventlet.listen(("127.0.0.1", port), backlog=256)
serve(front, with_cache(loadapp(os.path.join(folder, "proxy-server.conf"))))
print("ready", flush=True)
# Ends with whoever started it.
eventlet.hubs.trampoline(sys.stdin.fileno(), read=True)
