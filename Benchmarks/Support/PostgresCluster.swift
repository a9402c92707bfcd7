package import Foundation

/// A PostgreSQL server of its own: a fresh cluster on a free port of this machine alone, gone at the end.
///
/// It runs with its defaults, except for memory that holds the data and, if requested, logical replication.
/// Every commit is synced. PostgreSQL refuses to run as root, so root starts it as the user `postgres`.
package final class PostgresCluster {
  /// Where the programs are; `nil` where there is no PostgreSQL.
  package static let programs: String? = {
    let root = "/usr/lib/postgresql"
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
    let places = versions.sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }.map { "\(root)/\($0)/bin" }
    return (places + ["/opt/homebrew/bin", "/usr/local/bin"]).first {
      FileManager.default.isExecutableFile(atPath: "\($0)/initdb")
    }
  }()

  package let port: Int
  private let server: Process
  private let session: PostgresSession

  /// Makes and starts a server whose files lie in `directory`, which must not exist.
  ///
  /// - Parameters:
  ///   - programs: Where the programs are.
  ///   - directory: Where its files are to lie.
  ///   - replicates: Whether it is to send its changes to another one.
  /// - Throws: `BenchmarkError` when it does not start.
  package init(_ programs: String, in directory: URL, replicates: Bool = true) throws {
    port = try Self.freePort()
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let data = directory.appendingPathComponent("data").path
    if geteuid() == 0 {
      try Self.run("/usr/bin/env", ["chown", "postgres", directory.path])
      try Self.run("/usr/bin/env", ["chmod", "o+x", directory.deletingLastPathComponent().path])
    }
    let initialize = Self.command(
      "\(programs)/initdb", ["-D", data, "-U", "bench", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"])
    try Self.run(initialize.path, initialize.arguments)
    let settings = [
      "port=\(port)", "listen_addresses=127.0.0.1", "unix_socket_directories=\(directory.path)",
      "wal_level=\(replicates ? "logical" : "replica")", "shared_buffers=512MB", "max_wal_size=4GB",
      "logging_collector=off",
    ]
    let start = Self.command("\(programs)/postgres", ["-D", data] + settings.flatMap { ["-c", $0] })
    server = try Self.start(start.path, start.arguments)
    session = try PostgresSession("\(programs)/psql", port: port, server: server)
  }

  /// Runs a statement.
  ///
  /// - Returns: What it answered, its rows as lines.
  @discardableResult
  package func run(_ statement: String) throws -> String { try session.run(statement) }

  /// Ends the server at once; nothing is to be kept.
  package func stop() {
    session.close()
    // The process may be the one that changed the user: its child is the server, which ends with SIGQUIT.
    kill(server.processIdentifier, SIGTERM)
    server.waitUntilExit()
  }

  /// As root, the command as the server's user.
  private static func command(_ path: String, _ arguments: [String]) -> (path: String, arguments: [String]) {
    guard geteuid() == 0 else { return (path, arguments) }
    return ("/usr/bin/setpriv", ["--reuid=postgres", "--regid=postgres", "--init-groups", path] + arguments)
  }

  private static func start(_ path: String, _ arguments: [String]) throws -> Process {
    let process = Process()
    process.executableURL = URL(filePath: path)
    process.arguments = arguments
    process.currentDirectoryURL = URL(filePath: "/")
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    return process
  }

  private static func run(_ path: String, _ arguments: [String]) throws {
    let process = try start(path, arguments)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw BenchmarkError("\(arguments.joined(separator: " ")) failed")
    }
  }

  private static func freePort() throws -> Int {
    let handle = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(handle) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var count = socklen_t(MemoryLayout<sockaddr_in>.size)
    let failed = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(handle, $0, count) != 0 || getsockname(handle, $0, &count) != 0
      }
    }
    guard !failed else { throw BenchmarkError("no port is free") }
    return Int(UInt16(bigEndian: address.sin_port))
  }
}
