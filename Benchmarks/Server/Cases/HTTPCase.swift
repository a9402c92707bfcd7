#if Server
  import BenchmarkSupport
  import Foundation

  /// Single documents over HTTP: the big peer beside PostgreSQL behind the same HTTP library, in turns.
  ///
  /// Both answer a write once it is durable on the same disk.
  struct HTTPCase {
    /// Documents that are there before anything is measured, and of which random ones are read.
    let documents: Int
    let clients: Int
    let seconds: Double

    func run(_ report: inout Report, _ places: Places) throws {
      let corpus = try Corpus.orders(documents, in: places.server)
      var reader = try CorpusReader(path: corpus.path)
      let all = try reader.next(documents)
      let ids = all.map(\.id)
      let texts = all.map { String(decoding: $0.text, as: UTF8.self) }
      let bigPeer = try measureBigPeer(texts, ids, &report, places)
      guard let programs = PostgresCluster.programs else {
        try? FileHandle.standardError.write(contentsOf: Data("PostgreSQL is missing and is left out\n".utf8))
        return
      }
      let postgres = try measurePostgres(programs, texts, ids, &report, places)
      report.add("HTTP: write rate by PostgreSQL's", bigPeer.writes / postgres.writes, .times)
      report.add("HTTP: read rate by PostgreSQL's", bigPeer.reads / postgres.reads, .times)
    }

    private typealias Rates = (writes: Double, reads: Double)

    private func measureBigPeer(
      _ texts: [String], _ ids: [String], _ report: inout Report, _ places: Places
    ) throws -> Rates {
      let server = try BigPeerProcess(places, hasHTTP: true)
      let api = try BigPeerAPI(server, places)
      let connection = try HTTPConnection(port: api.port, token: api.token)
      for text in texts { try connection.send("POST", BigPeerAPI.path, BigPeerAPI.write(text)) }
      let answer = try connection.send("POST", BigPeerAPI.path, BigPeerAPI.read(ids[0]))
      guard String(decoding: answer, as: UTF8.self).contains(ids[0]) else {
        throw BenchmarkError("the big peer does not answer with a document that was written")
      }
      let load = HTTPLoad(port: api.port, token: api.token, clients: clients, seconds: seconds)
      let rates = try measure(load, "big peer", &report, child: server.child) { client, number in
        ("POST", BigPeerAPI.path, BigPeerAPI.write(Self.document(client, number, texts)))
      } read: { client, number in
        ("POST", BigPeerAPI.path, BigPeerAPI.read(ids[Self.place(client, number, ids.count)]))
      }
      try server.child.quit()
      return rates
    }

    private func measurePostgres(
      _ programs: String, _ texts: [String], _ ids: [String], _ report: inout Report, _ places: Places
    ) throws -> Rates {
      let cluster = try PostgresCluster(
        programs, in: places.server.appendingPathComponent("postgres"), replicates: false)
      defer { cluster.stop() }
      try cluster.run("CREATE TABLE orders (id text PRIMARY KEY, document jsonb NOT NULL);")
      let server = try Child([
        "postgres", "--database-port", "\(cluster.port)", "--connections", "\(clients)",
      ])
      let port = Int(try server.greeting.figure("http"))
      let connection = try HTTPConnection(port: port)
      for (id, text) in zip(ids, texts) { try connection.send("PUT", "/orders/\(id)", text) }
      let answer = try connection.send("GET", "/orders/\(ids[0])")
      guard String(decoding: answer, as: UTF8.self).contains(ids[0]) else {
        throw BenchmarkError("PostgreSQL does not answer with a document that was written")
      }
      let load = HTTPLoad(port: port, token: nil, clients: clients, seconds: seconds)
      let rates = try measure(load, "PostgreSQL", &report, child: server) { client, number in
        ("PUT", "/orders/\(Self.id(client, number))", Self.document(client, number, texts))
      } read: { client, number in
        ("GET", "/orders/\(ids[Self.place(client, number, ids.count)])", "")
      }
      try server.quit()
      return rates
    }

    private func measure(
      _ load: HTTPLoad, _ name: String, _ report: inout Report, child: Child,
      write: @escaping @Sendable (Int, Int) -> (String, String, String),
      read: @escaping @Sendable (Int, Int) -> (String, String, String)
    ) throws -> Rates {
      let writes = try load.run(write)
      let reads = try load.run(read)
      for (what, outcome) in [("write", writes), ("read", reads)] {
        let title = "HTTP, \(clients) clients, \(name): \(what) one document"
        report.add(title, outcome.perSecond, .perSecond)
        report.add("\(title), p50", outcome.latencies.median, .seconds)
        report.add("\(title), p99", outcome.latencies.quantile(0.99), .seconds)
      }
      report.add(
        "HTTP, \(name): memory of the process that answers, mapped pages included",
        try child.ask(.state).figure("peakResidentBytes"), .bytes)
      return (writes.perSecond, reads.perSecond)
    }

    private static func id(_ client: Int, _ number: Int) -> String { "new-\(client)-\(number)" }

    /// The text of a document of the corpus, with an id that no other has.
    private static func document(_ client: Int, _ number: Int, _ texts: [String]) -> String {
      let text = texts[place(client, number, texts.count)]
      // It begins with {"_id":"…".
      let rest = text.dropFirst(8).drop { $0 != "\"" }
      return "{\"_id\":\"\(id(client, number))\(rest)"
    }

    /// A place in the corpus, in an order that is that of no store and the same for both.
    private static func place(_ client: Int, _ number: Int, _ count: Int) -> Int {
      var random = SplitMix64(seed: UInt64(client) << 32 | UInt64(number))
      return Int(random.next() % UInt64(count))
    }
  }
#endif
