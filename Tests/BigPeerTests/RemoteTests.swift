#if Server
  import CRDTCore
  import Facade
  import Foundation
  import TestKit
  import Testing

  @testable import BigPeer

  @Suite struct TimedRoundTests {
    @Test func `a peer that is late gets no answer, and the others have theirs in order`() async {
      // Three late requests occupy three of the four slots. When the last request begins, all earlier ones
      // that are not late have answered.
      let (lastBegins, last) = AsyncStream<Void>.makeStream()
      let answers = await TimedRound.run(
        Array(0..<40), width: 4, until: { for await _ in lastBegins { return } }
      ) { number in
        if number == 39 { last.yield() }
        if number % 10 == 9 { try? await Task.sleep(for: .seconds(3_600)) }
        return number
      }
      #expect(answers.enumerated().allSatisfy { $1 == ($0 % 10 == 9 ? nil : $0) }, "\(answers)")
    }

    @Test func `the time is for all, also for those whose turn does not come`() async {
      let answers = await TimedRound.run(Array(0..<40), within: .milliseconds(50), width: 8) { number in
        try? await Task.sleep(for: .seconds(3_600))
        return number
      }
      #expect(answers.allSatisfy { $0 == nil })
      #expect(await TimedRound.run([Int](), within: .seconds(3_600), width: 8) { $0 }.isEmpty)
    }
  }

  @Suite struct RemoteTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    @Test func `devices that answer queries run a SELECT, and the others say that they do not`() async throws
    {
      let configuration = RunningBigPeer.configuration(in: folder)
      let places = [try TemporaryDirectory(), try TemporaryDirectory()]
      try await RunningBigPeer.with(configuration) { running in
        let address = try #require(running.addresses.devices["default"]?.first)
        let port = try #require(address.split(separator: ":").last.flatMap { Int($0) })
        let key = try DunlinSharedKey(
          String(contentsOfFile: configuration.applications[0].sharedKeyPath, encoding: .utf8))
        let devices = try zip(places, [true, false]).map { place, answers in
          try Dunlin(
            path: place.path, identity: .sharedKey(appID: "default", key: key),
            configuration: DunlinConfiguration(
              peerName: answers ? "open" : "shut", mapBytes: 1 << 30, answersRemoteQueries: answers))
        }
        for device in devices {
          _ = try await device.store.execute(query: "INSERT INTO local DOCUMENTS ({'_id': 'a', 'n': 7})")
          device.connect(host: "127.0.0.1", port: port)
          try device.startSync()
        }
        let api = try await running.api("read")
        let path = "/api/v4/sync/remote_execute"
        let question = "{\"statement\":\"SELECT n FROM local WHERE n = :n\",\"args\":{\"n\":7}}"
        var results: [Value] = []
        for _ in 0..<200 where results.count < 2 {
          let answer = try await api.post(path, question)
          expectEqual(answer.status, 200, "\(answer.fields)")
          results = answer.fields["results"]?.list ?? []
          if results.count < 2 { try await Task.sleep(for: .milliseconds(50)) }
        }
        #expect(results.count == 2)
        let open = try #require(results.first { $0["peer"]?["name"] == .string("open") })
        #expect(open["items"] == .array([.map(["n": .int(7)])]))
        #expect(open["error"] == nil)
        let shut = try #require(results.first { $0["peer"]?["name"] == .string("shut") })
        #expect(shut["items"] == .array([]))
        #expect(shut["error"]?["code"] == .string("denied"))
        let named = try await api.post(path, "{\"statement\":\"SELECT * FROM local\",\"peers\":[\"open\"]}")
        #expect(named.fields["results"]?.list?.count == 1)
        #expect(
          try await api.post(path, "{\"statement\":\"SELECT * FROM local\",\"peers\":[\"none\"]}").status
            == 404)
        #expect(try await api.post(path, "{\"statement\":\"DELETE FROM local\"}").status == 403)
        #expect(
          try await api.post(path, "{\"statement\":\"SELECT * FROM local\",\"timeout\":0}").status == 400)
        for device in devices { try device.close() }
      }
    }
  }
#endif
