#if TLS
  import Foundation
  import TestKit
  import Testing

  /// Grants with real processes: a big peer and devices, each with a certificate of the command line.
  @Suite(.timeLimit(.minutes(15))) final class GrantProcessTests {
    private let directory: TemporaryDirectory
    private var processes: [String: Process] = [:]

    init() throws {
      directory = try TemporaryDirectory()
      try command("ca", "make", "--app", "shop", "--out", directory.file("ca.pem"))
      try write("authority.pem", command("ca", "show", directory.file("ca.pem")))
      try write(
        "rules.json",
        """
        {"read": {"everything": false, "queriesByCollection": {"orders": ["owner = :user.id"]}},
         "write": {"everything": true}}
        """)
      try write("grant.json", #"{"rules": "rules.json"}"#)
    }

    deinit { for process in processes.values { process.end() } }

    private func write(_ name: String, _ text: String) throws {
      try Data(text.utf8).write(to: URL(filePath: directory.file(name)))
    }

    /// Runs a command that succeeds, and returns what it prints.
    @discardableResult
    private func command(_ arguments: String...) throws -> String {
      let outcome = try Tool.run(arguments, in: directory.path)
      expect(outcome.status == 0, "\(arguments): \(outcome)")
      return outcome.output
    }

    private func key(_ name: String) throws -> String {
      try command("key", "show", directory.file(name)).trimmingCharacters(in: .newlines)
    }

    /// Starts a peer's process, and waits until it answers.
    ///
    /// - Returns: The port on which it listens, if it does.
    @discardableResult
    private func serve(_ name: String, _ arguments: String...) async throws -> Int? {
      let process = Tool.process(
        [
          "serve", directory.file(name), "--app", "shop", "--certificate", directory.file("\(name).pem"),
          "--authority", directory.file("authority.pem"), "--name", name, "--subscribe", "orders",
        ] + arguments)
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      try process.run()
      processes[name] = process
      var port: Int?
      try await wait("status", directory.file(name)) { output in
        port = output.firstMatch(of: /listening.*127\.0\.0\.1:(\d+)/).flatMap { Int($0.1) }
        return true
      }
      return port
    }

    /// Starts the process of a user's device.
    private func serveDevice(_ name: String, to port: Int, revocations: String? = nil) async throws {
      let certificate = directory.file("\(name).pem")
      if !FileManager.default.fileExists(atPath: certificate) {
        try command(
          "cert", "issue", "--ca", directory.file("ca.pem"), "--key", key(name), "--user", name, "--grant",
          directory.file("grant.json"), "--out", certificate)
      }
      let address = "127.0.0.1:\(port)"
      if let revocations {
        try await serve(name, "--connect", address, "--revocations", revocations)
      } else {
        try await serve(name, "--connect", address)
      }
    }

    private func stop(_ name: String) async {
      guard let process = processes.removeValue(forKey: name) else { return }
      process.terminate()
      while process.isRunning { await pause() }
    }

    /// Waits until a command prints what is expected.
    private func wait(_ arguments: String..., until isRight: (String) -> Bool) async throws {
      while true {
        let outcome = try Tool.run(arguments, in: directory.path)
        if outcome.status == 0, isRight(outcome.output) { return }
        await pause()
      }
    }

    /// Waits until a peer has the orders with these ids, and no others.
    private func wait(_ name: String, for ids: String...) async throws {
      try await wait("query", directory.file(name), "SELECT _id FROM orders ORDER BY _id") { output in
        output.split(separator: "\n").map(String.init) == ids.map { #"{"_id":"\#($0)"}"# }
      }
    }

    private func hand(_ id: String, to owner: String) throws {
      try command(
        "query", directory.file("cloud"),
        "INSERT INTO orders DOCUMENTS ({'_id': '\(id)', 'owner': '\(owner)'}) ON ID CONFLICT DO UPDATE")
    }

    @Test func `each device has its own orders, through handing over, absence and a theft`() async throws {
      try command(
        "cert", "issue", "--ca", directory.file("ca.pem"), "--key", key("cloud"), "--kind", "big", "--out",
        directory.file("cloud.pem"))
      let port = try #require(try await serve("cloud", "--kind", "big", "--listen", "127.0.0.1:0"))
      for (id, owner) in [("a", "ann"), ("b", "bob"), ("c", "ann")] { try hand(id, to: owner) }
      for name in ["ann", "bob"] { try await serveDevice(name, to: port) }
      try await wait("ann", for: "a", "c")
      try await wait("bob", for: "b")
      try hand("a", to: "bob")
      try await wait("ann", for: "c")
      try await wait("bob", for: "a", "b")
      // What changes while a device is away shows when it returns.
      await stop("ann")
      try hand("c", to: "bob")
      try hand("d", to: "ann")
      try await wait("bob", for: "a", "b", "c")
      try await wait("ann", for: "c")
      try await serveDevice("ann", to: port)
      try await wait("ann", for: "d")
      // Ann's device is stolen. The big peer hears of it from a device that has the list.
      let list = directory.file("revoked.list")
      try command("ca", "revoke", directory.file("ca.pem"), "--list", list, "--key", key("ann"))
      try await serveDevice("cid", to: port, revocations: list)
      try await wait("status", directory.file("cloud")) { !$0.contains("\nann ") && $0.contains("\ncid ") }
      try hand("e", to: "ann")
      for (id, owner) in [("f", "bob"), ("g", "cid")] { try hand(id, to: owner) }
      try await wait("bob", for: "a", "b", "c", "f")
      try await wait("cid", for: "g")
      try await wait("ann", for: "d")
    }
  }
#endif
