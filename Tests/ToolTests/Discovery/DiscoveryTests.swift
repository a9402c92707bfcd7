import Testing

/// Discovery over real multicast, one test after another: each has some programs of its own to run.
@Suite(.timeLimit(.minutes(15)), .serialized) enum DiscoveryTests {}
