#if Server
  import BenchmarkSupport
  import Foundation

  /// A big peer in a process of its own.
  struct BigPeerProcess {
    let child: Child
    /// Where devices connect to.
    let port: Int
    /// When it listened, in monotonic nanoseconds.
    let startedAt: Double

    /// The collection that all cases use, which the server pulls from devices.
    static let collection = "orders"

    /// Starts it.
    ///
    /// - Parameters:
    ///   - places: Where its files lie.
    ///   - port: The port for devices; 0 is any.
    ///   - hasHTTP: Whether it has the HTTP API and the listener for who runs it.
    /// - Throws: `BenchmarkError` when it does not start.
    init(_ places: Places, port: Int = 0, hasHTTP: Bool = false) throws {
      let arguments =
        [
          "bigpeer", "--data", places.server.appendingPathComponent("data").path, "--port", "\(port)",
          "--collection", Self.collection,
        ] + (places.isSecure ? [] : ["--plain"]) + (hasHTTP ? ["--http"] : [])
      child = try Child(arguments)
      self.port = Int(try child.greeting.figure("port"))
      startedAt = child.greeting.times.first ?? 0
    }

    /// The key that its devices share; `nil` where nobody proves anything.
    var key: String? { child.greeting.words["key"] }

    func state() throws -> Reply { try child.ask(.state) }
  }
#endif
