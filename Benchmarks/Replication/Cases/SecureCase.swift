#if TLS
  import BenchmarkSupport
  import Foundation
  import Transports

  /// What proving who one is, and encryption, cost: the same with TLS and without, in one run.
  struct SecureCase {
    let corpus: Corpus
    let commits: Int
    let connections: Int

    func run(_ report: inout Report, in directory: URL) async throws {
      // In turns, so that what else the machine does meets both.
      var seconds: [Bool: Double] = [:]
      for isSecure in [false, true] {
        let pair = try Pair(isSecure ? .secure : .dunlin, in: directory)
        try pair.sender.ask(.load(path: corpus.path, collection: corpus.collection, batch: 1_000))
        let pull = try pair.pull(corpus.collection, count: corpus.documents).figure("pullSeconds")
        try pair.checkDigests(corpus)
        try pair.quit()
        seconds[isSecure] = pull
        report.add(
          "\(corpus.collection), \(isSecure ? "TLS" : "plain"): replicate to an empty peer",
          Double(corpus.documents) / pull, .perSecond)
      }
      if let plain = seconds[false], let secure = seconds[true] {
        report.add("\(corpus.collection): rate with TLS by that without", plain / secure, .times)
      }
      let plain = try LatencyCase.measure(.application, commits, in: directory).fromCall[commits / 2]
      let secure = try LatencyCase.measure(.secureApplication, commits, in: directory).fromCall[commits / 2]
      report.add("latency, plain: call of write to observer, p50", plain / 1e9, .seconds)
      report.add("latency, TLS: call of write to observer, p50", secure / 1e9, .seconds)
      report.add("latency with TLS by that without, p50", secure / plain, .times)
      try await connect(&report, in: directory)
    }

    /// Connects to a peer of this process again and again, until both have met.
    private func connect(_ report: inout Report, in directory: URL) async throws {
      var medians: [Bool: Double] = [:]
      for isSecure in [false, true] {
        let folder = directory.appendingPathComponent("connect-\(isSecure)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let hub = try Peer(path: folder.appendingPathComponent("hub").path, name: "hub", isSecure: isSecure)
        let peer = try Peer(
          path: folder.appendingPathComponent("peer").path, name: "peer", isSecure: isSecure)
        guard let port = try hub.network.listen() else { throw BenchmarkError("the hub does not listen") }
        var times: [Double] = []
        for _ in 0..<connections {
          let events = peer.network.events()
          let start = Measures.nanoseconds
          peer.network.connect(host: "127.0.0.1", port: port)
          for await case .connected in events { break }
          times.append(Measures.nanoseconds - start)
          peer.network.disconnect(host: "127.0.0.1", port: port)
          while !peer.network.connections.isEmpty || !hub.network.connections.isEmpty {
            try await Task.sleep(for: .milliseconds(1))
          }
        }
        await peer.close()
        await hub.close()
        medians[isSecure] = times.sorted()[times.count / 2]
        try FileManager.default.removeItem(at: folder)
      }
      guard let plain = medians[false], let secure = medians[true] else { return }
      report.add("connect, plain: until the peers have met", plain / 1e9, .seconds)
      report.add("connect, TLS: until the peers have met", secure / 1e9, .seconds)
      report.add("connect: time with TLS by that without", secure / plain, .times)
    }
  }
#endif
