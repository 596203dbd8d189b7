"""Lines of a request log, as Kafka's RequestConvertToJson writes them."""

import json

CLIENT = {"softwareName": "apache-kafka-java", "softwareVersion": "3.7.2"}
UNKNOWN = {"softwareName": "unknown", "softwareVersion": "unknown"}


def document(
    api_key=3,
    version=12,
    *,
    client="c",
    correlation=1,
    request=None,
    response=None,
    port=50012,
    told=CLIENT,
    forwarded=False,
    broker=9092,
    **more,
):
    return {
        "isForwarded": forwarded,
        "requestHeader": {
            "requestApiKey": api_key,
            "requestApiVersion": version,
            "correlationId": correlation,
            "clientId": client,
        },
        "request": {} if request is None else request,
        "response": {} if response is None else response,
        "connection": f"10.0.0.2:{broker}-10.0.0.1:{port}-0-7",
        "totalTimeMs": 2.5,
        "requestQueueTimeMs": 0.5,
        "localTimeMs": 1.5,
        "remoteTimeMs": 0.0,
        "throttleTimeMs": 0,
        "responseQueueTimeMs": 0.25,
        "sendTimeMs": 0.25,
        "securityProtocol": "PLAINTEXT",
        "principal": "User:ANONYMOUS",
        "listener": "PLAINTEXT",
        "clientInformation": told,
    } | more


def line(*given, time="2026-11-21 10:00:00,123", **options):
    """As log4j writes it with Kafka's own pattern."""
    return (
        f"[{time}] DEBUG Completed request:{json.dumps(document(*given, **options))} (kafka.request.logger)\n".encode()
    )


def offers(**highest):
    """The body of an ApiVersions response: highest versions by api key, `k0=9`."""
    return {
        "errorCode": 0,
        "apiKeys": [{"apiKey": int(key[1:]), "minVersion": 0, "maxVersion": high} for key, high in highest.items()],
    }
