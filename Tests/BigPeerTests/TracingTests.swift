#if Server
  import BigPeer
  import CRDTCore
  import Foundation
  import Logging
  import LoginKit
  import TestKit
  import Testing

  /// What names a request in the log, in the answer and for services behind it.
  @Suite(.timeLimit(.minutes(15))) struct TracingTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let parent = "00-\(trace)-00f067aa0ba902b7-01"

    @Test(arguments: [
      (Self.parent, true), ("cc-\(trace)-00f067aa0ba902b7-01-what-the-future-has", true),
      ("00-\(trace)-00f067aa0ba902b7-01-more", false), ("ff-\(trace)-00f067aa0ba902b7-01", false),
      ("00-\(trace)-0000000000000000-01", false),
      ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", false),
      ("00-\(trace.uppercased())-00f067aa0ba902b7-01", false), ("00-\(trace)-00f067aa0ba902b7", false),
      ("00-\(trace)-00f067aa0ba902b7-1", false), ("00_\(trace)_00f067aa0ba902b7_01", false), ("", false),
      ("00-\(trace)-00f067aa0ba902b7-0é", false), ("cc-\(trace)-00f067aa0ba902b7-01x", false),
      ("cc-\(trace)-00f067aa0ba902b7-01-\(String(repeating: "a", count: 512))", false),
    ])
    func `a traceparent is taken if it is as W3C has it`(text: String, isTaken: Bool) {
      let context = TraceContext(text)
      #expect((context != nil) == isTaken)
      guard let context else { return }
      #expect(context.trace == Self.trace)
      #expect(context.span == "00f067aa0ba902b7")
      #expect(context.description == Self.parent)
    }

    /// Members with values of many bytes.
    private static func long(_ count: Int) -> [String] {
      (0..<count).map { "k\($0)=\(String(repeating: "x", count: 250))" }
    }

    /// Short members in one list.
    private static func short(_ count: Int) -> String {
      (0..<count).map { "k\($0)=1" }.joined(separator: ",")
    }

    /// Values of the header, and what is handed on of them.
    private static let states: [(sent: [String], handedOn: String?)] = [
      (["a=1"], "a=1"), (["a=1,b=2"], "a=1,b=2"), (["a=1", "b=2"], "a=1,b=2"),
      ([" a=1 ,\t,b=2,"], "a=1,b=2"), (["0t@sys=x/y z!"], "0t@sys=x/y z!"), ([], nil), ([""], nil),
      (["a"], nil), (["a="], nil), (["=1"], nil), (["A=1"], nil), (["a=1=2"], nil), (["a=1,a=2"], nil),
      (["a=\u{e9}"], nil), (["@a=1"], nil), (["a@=1"], nil), (["a@b@c=1"], nil), (["a=1,b"], nil),
      ([long(1)[0] + "1234567"], nil), ([String(repeating: "a", count: 257) + "=1"], nil),
      ([short(32)], short(32)), ([short(33)], nil),
      // The third member would be too much.
      (long(3), long(2).joined(separator: ",")), ([String(repeating: "a", count: 9_000)], nil),
    ]

    @Test(arguments: Self.states)
    func `a tracestate is handed on beside its traceparent, in whole members`(
      states: [String], handedOn: String?
    ) throws {
      let context = try #require(TraceContext(Self.parent, states: states))
      #expect(context.state == handedOn)
      #expect(context.headers.map(\.value) == [Self.parent] + (handedOn.map { [$0] } ?? []))
      #expect(TraceContext("", states: states) == nil)
    }

    @Test func `an answer has the request's id and its trace, and so does the line of the log`()
      async throws
    {
      let lines = LogLines()
      try await RunningBigPeer.with(RunningBigPeer.configuration(in: folder), logger: lines.logger) {
        running in
        let api = try await running.api()
        let sent = ["X-Request-Id": "shop-7:a/b", "traceparent": Self.parent, "tracestate": "a=1, b=2"]
        let answer = try await api.execute("SELECT * FROM c", headers: sent)
        #expect(answer.headers["tracestate"] == "a=1,b=2")
        #expect(answer.headers["x-request-id"] == "shop-7:a/b")
        #expect(answer.headers["traceparent"] == Self.parent)
        // A problem has them, too, and so has what the administrator asks for.
        let refused = try await api.send("GET", "/nowhere", headers: sent)
        #expect(refused.status == 404)
        #expect(refused.headers["x-request-id"] == "shop-7:a/b")
        let health = try await running.admin().send("GET", "/healthz", headers: sent)
        #expect(health.headers["x-request-id"] == "shop-7:a/b")
        // What is not well formed is replaced.
        var made: Set<String> = []
        for id in ["", "a b", String(repeating: "x", count: 129), "a\"b", "a;b"] {
          let answer = try await api.execute(
            "SELECT * FROM c",
            headers: ["X-Request-Id": id, "traceparent": "00-0-0-00", "tracestate": "a=1"])
          let given = try #require(answer.headers["x-request-id"])
          expect(given.wholeMatch(of: /[0-9a-f]{32}/) != nil, "\(id): \(given)")
          expectEqual(answer.headers["traceparent"], nil)
          expectEqual(answer.headers["tracestate"], nil)
          made.insert(given)
        }
        #expect(made.count == 5, "each is another one")
      }
      let line = lines.all.first { $0.contains("route=/api/v4/store/execute") }
      #expect(line?.contains(" request=shop-7:a/b ") == true, "\(line ?? "")")
      #expect(line?.contains(" trace=\(Self.trace)") == true)
      #expect(line?.contains(" span=00f067aa0ba902b7 ") == true)
    }

    @Test func `a delivery to a webhook has the trace of the write, and none without one`() async throws {
      let receiver = try await HTTPSServer(nil) { _ in .answer(204, [], "") }
      var configuration = RunningBigPeer.configuration(in: folder)
      configuration.applications[0].feed.allowsPrivateAddresses = true
      configuration.applications[0].feed.webhookAuthorities = receiver.authorityFile
      try await RunningBigPeer.with(configuration) { running in
        let api = try await running.api()
        let body =
          "{\"url\":\"https://localhost:\(receiver.port)/\",\"statement\":\"SELECT * FROM cars\"}"
        #expect(try await api.post("/api/v4/webhooks", body).status == 201)
        let sent = ["traceparent": Self.parent, "tracestate": "a=1"]
        _ = try await api.execute("INSERT INTO cars DOCUMENTS ({'_id': 1})", headers: sent)
        while receiver.requests.isEmpty { await pause() }
        _ = try await api.execute("INSERT INTO cars DOCUMENTS ({'_id': 2})")
        while receiver.requests.count < 2 { await pause() }
      }
      let heads = receiver.requests.map { $0.head.lowercased() }
      #expect(heads.first?.contains("traceparent: \(Self.parent)") == true, "\(heads)")
      #expect(heads.first?.contains("tracestate: a=1") == true, "\(heads)")
      #expect(heads.dropFirst().allSatisfy { !$0.contains("traceparent") }, "\(heads)")
    }

    @Test func `the traces of the newest transactions are kept, and that of a failed one is not`() throws {
      let traces = CommitTraces()
      let context = try #require(TraceContext(Self.parent))
      for sequence in 1...5_000 { traces.note(context, of: UInt64(sequence)) }
      #expect(traces[5_000] == context)
      #expect(traces[1] == nil)
      #expect((1...5_000).count { traces[UInt64($0)] != nil } < CommitTraces.limit * 2)
      traces.remove(5_000, context)
      #expect(traces[5_000] == nil)
    }

    // MARK: - Lines

    private static let date = Date(timeIntervalSince1970: 1_790_000_000.25)

    @Test func `a line is one JSON object with the fields of the event`() throws {
      let line = LogLine(
        .warning, "POST /a\nb",
        [
          "status": "404", "milliseconds": "1.5", "key": "7", "failure": "a\"b\u{2028}c", "time": "no",
          "leftOut": "nan",
        ], at: Self.date)
      let expected =
        "{\"time\":\"2026-09-21T14:13:20.250Z\",\"level\":\"warning\",\"message\":\"POST /a\\nb\",\"failure\":\"a\\\"b\\u2028c\",\"key\":\"7\",\"leftOut\":\"nan\",\"milliseconds\":1.5,\"status\":404}"
      #expect(line.json == expected)
      #expect(try JSON.parse(line.json)["failure"] == .string("a\"b\u{2028}c"))
    }

    @Test func `a line for people has no control characters, and nothing twice`() {
      let line = LogLine(
        .info, "GET /a", ["method": "GET", "route": "/a", "directory": "a\nb", "status": "200"],
        at: Self.date)
      #expect(line.text == "2026-09-21T14:13:20.250Z info: GET /a directory=a\\u{a}b status=200")
    }

    @Test func `the page has each field of the log`() throws {
      let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
      let page = try String(
        contentsOf: root.appending(path: "Documentation/BigPeer.md"), encoding: .utf8)
      let section = page.split(separator: "\n").drop { $0 != "### The log" }.dropFirst()
        .prefix { !$0.hasPrefix("##") }
      let listed = Set(
        section.filter { $0.hasPrefix("| `") }.flatMap { line in
          (line.split(separator: " | ").first ?? "").matches(of: /`([A-Za-z]+)`/).map { String($0.output.1) }
        })
      var used: Set<String> = ["time", "level", "message", "database"]
      let files = FileManager.default.enumerator(
        at: root.appending(path: "Modules/BigPeer"), includingPropertiesForKeys: nil)
      while let file = files?.nextObject() as? URL {
        guard file.pathExtension == "swift" else { continue }
        let text = try String(contentsOf: file, encoding: .utf8)
        for match in text.matches(of: /\("([a-z]+)", event\./) { used.insert(String(match.output.1)) }
        for match in text.matches(of: /metadataKey: "([A-Za-z]+)"|metadata\["([A-Za-z]+)"\]/) {
          used.insert(String(match.output.1 ?? match.output.2 ?? ""))
        }
        for literal in text.matches(of: /metadata(?:: Logger\.Metadata =|:) \[([^\]]*)\]/) {
          for match in literal.output.1.matches(of: /"([A-Za-z]+)": "/) {
            used.insert(String(match.output.1))
          }
        }
      }
      #expect(used.count > 15)
      #expect(listed.symmetricDifference(used).sorted() == [])
    }
  }
#endif
