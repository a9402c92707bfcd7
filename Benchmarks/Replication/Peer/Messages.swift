import BenchmarkSupport

/// What the benchmark asks of a peer's process, one JSON line each.
enum Request: Codable, Sendable {
  /// Opens a store; `level` is zlib's, `nil` what the library chooses.
  case open(path: String, name: String, level: Int?)
  case listen(webSocket: Bool)
  /// Imports JSON Lines in batches of `batch`.
  case load(path: String, collection: String, batch: Int)
  /// Subscribes, connects and waits until `count` documents have come.
  ///
  case pull(collection: String, port: Int, route: Route, count: Int)
  /// Pulls all of a collection from every peer, without a connection of its own.
  case subscribe(collection: String)
  /// Opens several peers in one process, which subscribe, connect and wait until each has `count` documents.
  case join(peers: Int, collection: String, port: Int, count: Int)
  /// Connects and waits until all that the other has is here.
  case meet(port: Int)
  /// Ends the connection to a port.
  case part(port: Int)
  /// Writes one small document, so that there is something to wait for.
  case mark(collection: String)
  /// Waits until so many changes of a collection have come since the store was opened.
  case wait(collection: String, changes: Int)
  /// Observes a collection until `count` rows have come or changed.
  case observe(collection: String, count: Int)
  case commitOneByOne(collection: String, count: Int, gapMilliseconds: Int)
  case updateField(collection: String, field: String, count: Int, perTransaction: Int)
  /// Writes a document of exactly so many canonical bytes, then a small one as a marker.
  case writeLarge(id: String, canonicalBytes: Int)
  case holds(collection: String, id: String)
  case scan(collection: String, predicate: String, rounds: Int)
  /// Documents, digest, bytes moved, memory, warnings.
  case state(collection: String)
  case quit
}

/// What carries the connection of two peers.
enum Route: String, Codable, Sendable {
  case tcp
  case webSocket
  /// A link of 1 MB a second, 5 ms away: a middling Wi-Fi.
  case wireless
  /// A link as `LinkProfile.constrained` has it.
  case slow
}

/// What a peer's process answers.
struct Reply: Codable, Sendable {
  var figures: [String: Double] = [:]
  var words: [String: String] = [:]
  /// Times in monotonic nanoseconds, which all processes of a machine share.
  var times: [Double] = []
  var endTimes: [Double] = []
  var error: String?

  func figure(_ name: String) throws -> Double {
    guard let figure = figures[name] else { throw BenchmarkError("a peer told no \(name)") }
    return figure
  }
}
