#if Server
  import BenchmarkSupport
  import Foundation

  /// Many devices of one server, in several processes, which are asked all at once.
  struct Crowds {
    let children: [Child]

    /// Opens devices, which do not connect yet.
    init(_ devices: Int, processes: Int, of server: BigPeerProcess, _ places: Places, name: String) throws {
      let count = min(processes, devices)
      let children = try (0..<count).map { _ in try Child(["crowd"]) }
      for (number, child) in children.enumerated() {
        let share = devices / count + (number < devices % count ? 1 : 0)
        try child.send(
          .open(
            devices: share, path: places.devices.appendingPathComponent("\(name)-\(number)").path,
            port: server.port, key: server.key, collection: BigPeerProcess.collection))
      }
      for child in children { _ = try child.reply() }
      self.children = children
    }

    /// The process with the device that writes.
    var first: Child { children[0] }

    @discardableResult
    func ask(_ request: Request) throws -> [Reply] {
      for child in children { try child.send(request) }
      return try children.map { try $0.reply() }
    }

    /// Asks all, and returns the times of all devices, the first one first.
    func times(_ request: Request) throws -> [Double] { try ask(request).flatMap(\.times).sorted() }

    /// The sum of a figure over all processes.
    func sum(_ figure: String) throws -> Double {
      try ask(.state).reduce(0) { $0 + (try $1.figure(figure)) }
    }

    func quit() throws { for child in children { try child.quit() } }
  }
#endif
