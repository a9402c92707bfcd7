import ArgumentParser

/// A store with its network, in a process of its own, that does what the benchmark asks.
protocol PeerService: AnyObject, Sendable {
  /// Does what is asked; `ready` tells the benchmark that a request which goes on has begun.
  func answer(_ request: Request, ready: @Sendable () -> Void) async throws -> Reply

  func close() async
}

/// What a peer's process is.
enum PeerKind: String, ExpressibleByArgument, CaseIterable {
  case dunlin
  /// The same, which proves who it is.
  case secure
  /// A database as an application has it.
  case application
  /// The same, which proves who it is.
  case secureApplication
  /// Many of them, each with a store of its own.
  case crowd
  /// The same, which prove who they are.
  case secureCrowd
  /// LMDB, zlib and a socket, nothing else.
  case raw
}
