"""Language models behind an OpenAI-compatible endpoint: asked politely, paid for once, never believed without a check.

messages   what is said: text, foreign text behind a fence, images
settings   where, which model, which limits, what it costs
limits     concurrency, requests a minute, tokens a minute
cost       tokens and dollars, and the budget
cache      replies on disk by the hash of what was asked
replies    from a reply to a checked record, or a typed failure
transport  one try over HTTP: text back, or a typed error
client     one `Endpoint` a model, which puts these together
"""

from webgym.endpoint.client import Answer, Endpoint
from webgym.endpoint.cost import Meter
from webgym.endpoint.messages import Data, Image, Message
from webgym.endpoint.settings import EndpointSettings

__all__ = ["Answer", "Data", "Endpoint", "EndpointSettings", "Image", "Message", "Meter"]
