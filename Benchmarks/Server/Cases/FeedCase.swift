#if Server
  import BenchmarkSupport
  import Foundation

  /// How long after a write over HTTP its change arrives in a stream of changes.
  struct FeedCase {
    /// Writes, one after another.
    let writes: Int

    /// Between two writes.
    private static let gapMicroseconds: UInt32 = 2_000

    func run(_ report: inout Report, _ places: Places) throws {
      let server = try BigPeerProcess(places, hasHTTP: true)
      let api = try BigPeerAPI(server, places)
      let connection = try HTTPConnection(port: api.port, token: api.token)
      // The collection exists before anybody asks for its changes.
      try connection.send("POST", BigPeerAPI.path, BigPeerAPI.write(#"{"_id":"first"}"#))
      let stream = try HTTPConnection(port: api.port, token: api.token)
      guard try stream.open("/api/v4/changes?query=SELECT%20*%20FROM%20orders") else {
        try? FileHandle.standardError.write(
          contentsOf: Data("The server has no feed, which is left out\n".utf8))
        return try server.child.quit()
      }
      var fromCall: [Double] = []
      var fromAnswer: [Double] = []
      var text = ""
      for number in 0..<writes {
        let id = "change-\(number)-"
        let called = Measures.nanoseconds
        try connection.send(
          "POST", BigPeerAPI.path, BigPeerAPI.write(#"{"_id":"\#(id)","amount":\#(number)}"#))
        let answered = Measures.nanoseconds
        var arrived = Measures.nanoseconds
        while !text.contains(id) {
          text = String(text.suffix(64)) + String(decoding: try stream.nextChunk(), as: UTF8.self)
          arrived = Measures.nanoseconds
        }
        fromCall.append((arrived - called) / 1e9)
        // A change may have come before the answer to the write, and is then seen right after it.
        fromAnswer.append(max(0, arrived - answered) / 1e9)
        usleep(Self.gapMicroseconds)
      }
      for (title, latencies) in [
        ("call of a write over HTTP", fromCall), ("answer to a write over HTTP", fromAnswer),
      ] {
        report.add("feed: from the \(title) to its change, p50", latencies.median, .seconds)
        report.add("feed: from the \(title) to its change, p99", latencies.quantile(0.99), .seconds)
      }
      try server.child.quit()
    }
  }
#endif
