#if Server
  import BigPeer
  import CRDTCore
  import Facade
  import Foundation
  import Links
  import TestKit
  import Testing

  /// The program, as a user runs it.
  @Suite struct ProgramTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    /// The program that the build put beside the tests.
    private static var path: String {
      var folder = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
      while folder.path != "/" {
        let candidate = folder.appending(path: "bigpeer").path(percentEncoded: false)
        var isFolder: ObjCBool = false
        if FileManager.default.fileExists(atPath: candidate, isDirectory: &isFolder), !isFolder.boolValue {
          return candidate
        }
        folder.deleteLastPathComponent()
      }
      return "bigpeer"
    }

    private func process(_ arguments: [String], output: Pipe, errors: Pipe) -> Process {
      let process = Process()
      process.executableURL = URL(filePath: Self.path)
      process.arguments = arguments
      process.standardOutput = output
      process.standardError = errors
      return process
    }

    private func run(_ arguments: [String]) async throws -> (status: Int32, output: String, errors: String) {
      try await offTasks {
        let (output, errors) = (Pipe(), Pipe())
        let process = process(arguments, output: output, errors: errors)
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let faults = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text, faults)
      }
    }

    /// What a server has printed when it serves, or when it has ended.
    private func lines(untilServing output: Pipe) async throws -> String {
      try await offTasks {
        var text = ""
        while !text.contains("serving\n") {
          let more = output.fileHandleForReading.availableData
          guard !more.isEmpty else { break }
          text += String(decoding: more, as: UTF8.self)
        }
        return text
      }
    }

    /// The address of the admin's listener, whose port the system has chosen.
    private static func admin(in lines: String) throws -> String {
      let line = try #require(
        lines.split(separator: "\n").first { $0.hasPrefix("admin at http://") }, "\(lines)")
      return String(line.dropFirst(16))
    }

    @Test func `it serves from an empty directory, makes keys, and stops when it is told to`() async throws {
      let data = folder.file("data")
      let settings = ["--data", data, "--devices", "127.0.0.1:0", "--http", "127.0.0.1:0"]
      let server = process(
        ["run"] + settings + ["--admin", "127.0.0.1:0"], output: Pipe(), errors: Pipe())
      let output = try #require(server.standardOutput as? Pipe)
      try server.run()
      let lines = try await lines(untilServing: output)
      #expect(lines.contains("shared key of default in \(data)/applications/default/shared.key"))
      let url = try #require(
        lines.split(separator: "\n").first { $0.hasPrefix("HTTP API at ") }?.dropFirst(12))
      let admin = try Self.admin(in: lines)
      let ask = ["--data", data, "--admin", admin]
      let made = try await run(["key", "make"] + ask + ["--name", "shop", "--right", "write"])
      #expect(made.status == 0, "\(made.errors)")
      let token = made.output.trimmingCharacters(in: .whitespacesAndNewlines)
      let api = try APIClient(String(url), token: token)
      #expect(try await api.execute("INSERT INTO orders DOCUMENTS ({'_id': 1})").status == 200)
      // The server has written its address beside the token.
      let listed = try await run(["key", "list", "--data", data])
      #expect(listed.output.contains("\"name\":\"shop\""))
      // All times that programs print have one form.
      let time = /"created":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/
      #expect(listed.output.contains(time), "\(listed.output)")
      let id = try #require(token.split(separator: ".").dropFirst().first)
      #expect(try await run(["devices"] + ask).status == 0)
      let status = try await run(["status", "--data", data])
      #expect(status.output.contains("\"app\":\"default\""), "\(status)")
      #expect(status.output.contains("\"documents\":1"))
      #expect(try await run(["status", "--data", data, "--application", "none"]).status == 1)
      #expect(try await run(["verify"] + ask).output.contains("\"isIntact\":true"))
      let backup = try await run(["backup", folder.file("copy")] + ask)
      #expect(backup.status == 0)
      #expect(backup.output == "{\"directory\":\"\(folder.file("copy"))\"}\n")
      #expect(FileManager.default.fileExists(atPath: folder.file("copy/data.mdb")))
      let again = try await run(["backup", folder.file("copy")] + ask)
      #expect(again.status != 0)
      #expect(again.errors.contains("copy"))
      let point = try await run(["backup", "--series", folder.file("series")] + ask)
      #expect(point.status == 0 && point.output.contains("\"isBase\":true"), "\(point)")
      #expect(try await run(["backups", folder.file("series"), "--check"]).output.contains("\"point\":1"))
      #expect(try await run(["backup", "--base", folder.file("other")] + ask).status == 64)
      let exported = try await run(["export", folder.file("orders.jsonl"), "--collection", "orders"] + ask)
      #expect(exported.status == 0, "\(exported.errors)")
      let orders = try String(contentsOfFile: folder.file("orders.jsonl"), encoding: .utf8)
      #expect(orders == "{\"_id\":1}\n")
      #expect(
        try await run(["export"] + ask).output == "{\"collection\":\"orders\",\"document\":{\"_id\":1}}\n")
      #expect(try await run(["export", folder.file("orders.jsonl")] + ask).errors.contains("--force"))
      let text = """
        {"read": {"everything": false, "queriesByCollection": {"orders": ["_id = 2"]}},
         "write": {"everything": true}}
        """
      let (rules, ann) = (folder.file("rules.json"), folder.file("ann.json"))
      try text.write(toFile: rules, atomically: true, encoding: .utf8)
      try #"{"user":{"id":"ann"},"rules":"rules.json"}"#.write(
        toFile: ann, atomically: true, encoding: .utf8)
      let tried = try await run(["rules", "try", "--as", ann] + ask)
      #expect(tried.status == 0 && tried.errors.isEmpty, "\(tried)")
      #expect(tried.output.contains("cannot read 1 document of orders:\n  1  _id = 2"), "\(tried.output)")
      let compared = try await run(["rules", "diff", rules, rules, "--as", ann] + ask)
      #expect(compared.output == "Nobody gains or loses anything\n", "\(compared)")
      let checked = try await run(["rules", "check", rules])
      #expect(checked.output.hasPrefix("read     1 query\nwrite    everything\n"), "\(checked)")
      let mistaken = try await run(["rules", "check", ann])
      #expect(mistaken.status == 1 && mistaken.errors.contains("ann.json:"), "\(mistaken)")
      #expect(try await run(["rules", "diff", rules, rules] + ask).status == 64)
      #expect(try await run(["export", "--collection", "none"] + ask).errors.contains("no collection"))
      #expect(try await run(["health"] + ask).status == 0)
      #expect(try await run(["health", "--ready"] + ask).status == 0)
      let device = "\(DeviceKey().peerKey)"
      let revoked = try await run(["revoke", device, "--reason", "stolen"] + ask)
      #expect(revoked.output.contains("\"reason\":\"stolen\""), "\(revoked)")
      #expect(try await run(["revoke"] + ask).output.contains(device))
      let audit = try await run(["audit"] + ask)
      #expect(audit.output.contains("\"event\":\"revoked\""), "\(audit)")
      #expect(audit.output.contains("{\"next\":\""))
      #expect(try await run(["audit", "--refusals", "--count", "5"] + ask).output.hasPrefix("{\"next\":"))
      let wrong = try await run(["revoke", "00"] + ask)
      #expect(wrong.status != 0)
      #expect(wrong.errors.contains("hexadecimal"))
      #expect(try await run(["revoke", "--reason", "stolen"] + ask).status != 0)
      #expect(try await run(["audit", "--after", "a&b"] + ask).status != 0)
      #expect(try await run(["key", "revoke", String(id)] + ask).status == 0)
      #expect(try await api.execute("SELECT * FROM orders").status == 401)
      // Neither keeps the server from serving.
      kill(server.processIdentifier, SIGHUP)
      let reloaded = try await run(["reload"] + ask)
      #expect(reloaded.status == 0 || reloaded.errors.contains("another reload"), "\(reloaded)")
      let second = try await run(
        ["run", "--data", folder.file("second"), "--devices", "off", "--http", "off", "--admin", admin])
      #expect(second.status == 1)
      #expect(second.errors == "Error: --admin: Cannot listen on \(admin): Address already in use\n")
      #expect(try await run(["devices"] + ask).status == 0)
      server.terminate()
      try await offTasks { server.waitUntilExit() }
      #expect(server.terminationStatus == 0)
      let ended = try await run(["status", "--data", data])
      #expect(ended.errors.contains("no server answers in \(data)"), "\(ended)")
      let gone = try await run(["key", "list"] + ask)
      #expect(gone.status != 0)
      #expect(gone.errors.contains("nobody answers at \(admin)"))
      #expect(!FileManager.default.fileExists(atPath: "\(data)/\(AdminAddress.file)"))
    }

    @Test func `one event is one line of the log, and the server goes on when nobody reads it`() async throws
    {
      let data = folder.file("data")
      let settings = ["--data", data, "--devices", "off", "--http", "off", "--admin", "127.0.0.1:0"]
      let (output, errors) = (Pipe(), Pipe())
      let server = process(["run"] + settings, output: output, errors: errors)
      try server.run()
      let admin = try Self.admin(in: await lines(untilServing: output))
      let ask = ["--data", data, "--admin", admin]
      #expect(try await run(["backup", folder.file("a\nb")] + ask).status == 0)
      let line = try await offTasks {
        String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self)
      }
      #expect(line.contains("/a\\u{a}b"), "\(line)")
      try errors.fileHandleForReading.close()
      for _ in 0..<3 { try await expectEqual(run(["key", "make", "--name", "x"] + ask).status, 0) }
      let revoked = try await run(["key", "revoke", "a b"] + ask)
      #expect(revoked.errors.contains("no key with this id"), "\(revoked)")
      server.terminate()
      try await offTasks { server.waitUntilExit() }
      #expect(server.terminationStatus == 0)
      for days in ["0", "\(Int.max)"] {
        let made = try await run(["key", "make", "--name", "x", "--days", days] + ask)
        expect(made.errors.contains("--days takes a whole number"), "\(made)")
      }
    }

    @Test func `a reload takes what the file says now, and names what needs a restart`() async throws {
      let file = folder.file("bigpeer.json")
      func write(_ members: String) throws {
        try """
        { "data": "data",
          "http": { "on": false },
          \(members) }
        """.write(toFile: file, atomically: true, encoding: .utf8)
      }
      try write(#""applications": [{ "id": "a", "devices": { "listen": [] } }]"#)
      let server = process(
        ["run", "--config", file, "--admin", "127.0.0.1:0"], output: Pipe(), errors: Pipe())
      let output = try #require(server.standardOutput as? Pipe)
      try server.run()
      let ask = ["--config", file, "--admin", try Self.admin(in: await lines(untilServing: output))]
      try write(
        #"""
        "logLevel": "debug",
          "applications": [{ "id": "a", "devices": { "listen": [] } }, { "id": "b", "devices": { "listen": [] } }]
        """#)
      let reloaded = try await run(["reload"] + ask)
      #expect(reloaded.status == 0, "\(reloaded)")
      #expect(reloaded.output.contains(#""added":["b"]"#), "\(reloaded)")
      #expect(reloaded.output.contains(#""needsRestart":["logLevel"]"#), "\(reloaded)")
      let made = try await run(["key", "make", "--application", "b", "--name", "x"] + ask)
      #expect(made.output.hasPrefix("dk1."), "\(made)")
      try write(
        #"""
        "stopTime": "soon",
          "applications": [{ "id": "a", "devices": { "listen": [1] } }]
        """#)
      // The command itself cannot read the file, so the server is told by another one.
      let other = folder.file("other.json")
      try "{ \"data\": \"data\" }".write(toFile: other, atomically: true, encoding: .utf8)
      let refused = try await run(["reload", "--config", other] + ask.suffix(2))
      #expect(refused.status == 1)
      #expect(refused.errors.contains("\(file):3: stopTime: "), "\(refused)")
      #expect(refused.errors.contains("\(file):4: applications[0].devices.listen: "), "\(refused)")
      server.terminate()
      try await offTasks { server.waitUntilExit() }
      #expect(server.terminationStatus == 0)
    }

    @Test func `each line of the log is a JSON object where that is said, with the request that it is of`()
      async throws
    {
      let data = folder.file("data")
      let settings = ["--data", data, "--devices", "off", "--http", "off", "--admin", "127.0.0.1:0"]
      let (output, errors) = (Pipe(), Pipe())
      let server = process(["run", "--log-format", "json"] + settings, output: output, errors: errors)
      try server.run()
      _ = try await lines(untilServing: output)
      #expect(try await run(["key", "make", "--name", "x", "--data", data]).status == 0)
      server.terminate()
      let text = try await offTasks {
        String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      }
      let all = try text.split(separator: "\n").map { try JSON.parse(String($0)) }
      let request = try #require(all.first { $0["route"] != nil }, "\(text)")
      #expect(request["status"] == .int(201))
      #expect(request["method"] == .string("POST"))
      // What is logged on the way has the id of the request.
      let made = try #require(all.first { $0["message"] == .string("An API key was made") }, "\(text)")
      #expect(made["request"]?.text?.count == 32)
      #expect(made["request"] == request["request"])
      #expect(made["application"] == .string("default"))
      for line in all {
        expect(line["time"]?.text != nil && line["level"]?.text != nil && line["message"]?.text != nil)
      }
    }

    @Test func `a mistake ends it before anything is started`() async throws {
      let file = folder.file("bigpeer.json")
      try "{\n  \"data\": \"d\",\n  \"http\": { \"listen\": \"0.0.0.0:80\" }\n}".write(
        toFile: file, atomically: true, encoding: .utf8)
      for command in ["run", "check"] {
        let outcome = try await run([command, "--config", file])
        expectEqual(outcome.status, 78)
        expect(outcome.errors.contains("\(file):3: http.listen: without a certificate"))
      }
      #expect(!FileManager.default.fileExists(atPath: folder.file("d")))
      let right = try await run(["check", "--data", folder.file("d")])
      #expect(right.status == 0)
      #expect(right.output.contains("the configuration is right: default"))
      #expect(try await run(["--version"]).output == "bigpeer \(Dunlin.version)\n")
      for command in ["run", "check"] {
        let outcome = try await run([command, "--data", "\(file)/below"])
        expectEqual(outcome.status, 78)
        expectEqual(
          outcome.errors, "Error: --data: \(file)/below cannot be used: \(file) is no directory\n",
          "\(outcome.errors)")
      }
    }
  }
#endif
