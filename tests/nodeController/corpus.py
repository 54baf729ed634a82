# Requests with a changed byte or two, and what is read of those taken; as a program for rehearsal/runtime/readers/texts.
import base64
import ipaddress
import json
import os
import random
import subprocess

from support import machine, pem

import pkcs10

OWN = machine(1)
MADE = f"req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout /dev/null -subj /O=system:nodes/CN=system:node:{OWN.name}".split()
# Bytes with a meaning at many places.
ODD = (0x00, 0x01, 0x0C, 0x13, 0x14, 0x16, 0x1E, 0x2F, 0x30, 0x31, 0x80, 0x81, 0x82, 0x86, 0x87, 0xA0, 0xFF)


def seeds():
    dns, addresses = ("DNS:a.b", f"DNS:{OWN.name}"), ("IP:10.0.0.1", "IP:10.1.2.3", "IP:fd00::1")
    for names in ((), dns, (*dns, *addresses)):
        more = ["-addext", f"subjectAltName={','.join(names)}"] if names else []
        made = subprocess.run(["openssl", *MADE, *more], capture_output=True, check=True).stdout
        yield base64.b64decode(b"".join(made.split(b"\n")[1:-2]))


def accepted(count):
    # Few changes are of key and signature, which are not read.
    random.seed(11)
    made, found = list(seeds()), {}
    texts = [pem(each) for each in made]
    for _ in range(count):
        data = bytearray(random.choice(made))
        for _ in range(random.randint(1, 2)):
            at = random.randrange(len(data)) if random.random() < 0.2 else random.choice([*range(110), *range(185, min(290, len(data)))])
            data[at] = random.choice((random.randrange(256), data[at] ^ 1 << random.randrange(8), *ODD))
        texts += [pem(bytes(data)), pem(bytes(data[:at]))]
    for text in texts:
        try:
            found[text] = pkcs10.read(text)
        except pkcs10.Malformed:
            pass
    return found


def said(got):
    # As Go names what it reads.
    return sorted(
        [f"2.5.4.3={got.name}", *(f"2.5.4.10={each}" for each in got.organizations)]
        + [f"DNS={each}" for each in got.dns]
        + [f"IP={ipaddress.ip_address(each)}" for each in got.addresses]
    )


if __name__ == "__main__":
    found = accepted(int(os.environ.get("MUTATIONS", "3000")))
    print(json.dumps([{"kind": "certificate-request", "text": text.decode(), "read": said(got)} for text, got in found.items()]))
