#if Server
  import ArgumentParser
  import BenchmarkSupport
  import Foundation

  /// The process of many devices, each with a store and a network of its own.
  struct CrowdCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "crowd", shouldDisplay: false)

    func run() async throws {
      Descriptors.raise()
      let crowd = Crowd()
      try await ChildLoop.run(greeting: Reply()) { try await crowd.answer($0) }
      await crowd.close()
    }
  }

  private actor Crowd {
    private var devices: [Device] = []

    func close() async {
      await withTaskGroup(of: Void.self) { tasks in
        for device in devices { tasks.addTask { await device.close() } }
      }
    }

    func answer(_ request: Request) async throws -> Reply {
      var reply = Reply()
      switch request {
      case .open(let count, let path, let port, let key, let collection):
        try open(count, path, port, key, collection)
      case .connect: for device in devices { device.connect() }
      case .load(let path): try await first.load(path)
      case .write(let id): reply.times = [try await first.write(id)]
      case .wait(let changes):
        for device in devices { reply.times.append(try await device.wait(for: changes)) }
      case .waitForConnections(let number):
        for device in devices { reply.times.append(try await device.waitForConnection(number)) }
      case .state:
        reply = ChildLoop.state
        let attempts = devices.map(\.connecting)
        reply.figures["unanswered"] = Double(attempts.reduce(0) { $0 + $1.unanswered })
        reply.figures["turnedAway"] = Double(attempts.reduce(0) { $0 + $1.turnedAway })
        reply.figures["connected"] = Double(attempts.reduce(0) { $0 + $1.connectedAt.count })
      case .quit: break
      }
      return reply
    }

    private func open(
      _ count: Int, _ path: String, _ port: Int, _ key: String?, _ collection: String
    ) throws {
      let key = try key.map { text in
        guard let data = Data(base64Encoded: text) else {
          throw BenchmarkError("the shared key is no Base64")
        }
        return Array(data)
      }
      for number in 0..<count {
        devices.append(
          try Device(
            path: "\(path)-\(number)", name: "device", port: port, key: key, collection: collection))
      }
    }

    private var first: Device {
      get throws {
        guard let first = devices.first else { throw BenchmarkError("no device is open") }
        return first
      }
    }
  }
#endif
