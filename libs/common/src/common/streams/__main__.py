"""`python -m common.streams`: print the AsyncAPI description."""

import json

from common.streams.asyncapi import asyncapi

if __name__ == "__main__":
    print(json.dumps(asyncapi(), indent=2, ensure_ascii=False))
