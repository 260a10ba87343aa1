"""The only way out for pages: a policy, and the SOCKS5 proxy on loopback that enforces it on every connection."""

from webgym.server.egress.destinations import EgressPolicy
from webgym.server.egress.failures import Failure
from webgym.server.egress.proxy import BYPASS, MAX_CONNECTIONS, Counters, Egress

__all__ = ["BYPASS", "MAX_CONNECTIONS", "Counters", "Egress", "EgressPolicy", "Failure"]
