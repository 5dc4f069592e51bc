"""The REST interface: routes parse a request, hand it to a use case and write down the answer."""
