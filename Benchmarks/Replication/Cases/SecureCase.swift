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
      // In turns, so that what else the machine does meets all.
      let plain = try replicate(.dunlin, "plain", &report, in: directory)
      let secure = try replicate(.secure, "TLS", &report, in: directory)
      let webSocket = try replicate(.secure, "TLS in a WebSocket", over: .webSocket, &report, in: directory)
      report.add("\(corpus.collection): rate with TLS by that without", plain / secure, .times)
      report.add("\(corpus.collection): rate in a WebSocket by that over TCP", secure / webSocket, .times)
      try await latency(&report, in: directory)
      try await connect(&report, in: directory)
      try rest(&report, in: directory)
    }

    /// Replicates all to an empty peer.
    ///
    /// - Returns: Seconds.
    private func replicate(
      _ kind: PeerKind, _ name: String, over route: Route = .tcp, _ report: inout Report, in directory: URL
    ) throws -> Double {
      let pair = try Pair(kind, in: directory)
      try pair.sender.ask(.load(path: corpus.path, collection: corpus.collection, batch: 1_000))
      let seconds = try pair.pull(corpus.collection, count: corpus.documents, over: route)
        .figure("pullSeconds")
      try pair.checkDigests(corpus)
      try pair.quit()
      report.add(
        "\(corpus.collection), \(name): replicate to an empty peer", Double(corpus.documents) / seconds,
        .perSecond)
      return seconds
    }

    private func latency(_ report: inout Report, in directory: URL) async throws {
      let plain = try LatencyCase.measure(.application, commits, in: directory).fromCall[commits / 2]
      let secure = try LatencyCase.measure(.secureApplication, commits, in: directory).fromCall[commits / 2]
      report.add("latency, plain: call of write to observer, p50", plain / 1e9, .seconds)
      report.add("latency, TLS: call of write to observer, p50", secure / 1e9, .seconds)
      report.add("latency with TLS by that without, p50", secure / plain, .times)
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

    /// Measures the memory that an idle connection takes at one of its ends.
    ///
    /// It counts memory that no file backs, without free memory that the allocator keeps.
    private func rest(_ report: inout Report, in directory: URL) throws {
      for (isSecure, name) in [(false, "plain"), (true, "TLS")] {
        let folder = directory.appendingPathComponent("rest-\(name)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let hub = try PeerProcess(
          isSecure ? .secure : .dunlin, path: folder.appendingPathComponent("hub").path, name: "hub")
        let crowd = try PeerProcess(
          isSecure ? .secureCrowd : .crowd, path: folder.appendingPathComponent("crowd").path, name: "crowd")
        try hub.ask(.mark(collection: "things"))
        let port = Int(try hub.ask(.listen(webSocket: false)).figure("port"))
        // One that comes and stays first takes what all share.
        let first = try PeerProcess(
          isSecure ? .secure : .dunlin, path: folder.appendingPathComponent("first").path, name: "first")
        try first.ask(.pull(collection: "things", port: port, route: .tcp, count: 1))
        let before = try hub.ask(.state(collection: "things")).figure("heldBytes")
        let peers = connections * 2
        try crowd.ask(.join(peers: peers, collection: "things", port: port, count: 1))
        // After ten seconds sessions ping, and free their compressors.
        Thread.sleep(forTimeInterval: 12)
        let after = try hub.ask(.state(collection: "things")).figure("heldBytes")
        report.add("connection at rest, \(name)", max(0, after - before) / Double(peers), .bytes)
        for process in [first, crowd, hub] { try process.quit() }
      }
    }
  }
#endif
