import Foundation

/// Machines on one network: network namespaces that a bridge joins; needs Linux and root.
///
/// The namespaces are removed with the last reference. A namespace in which a program still runs stays until
/// the program ends.
public final class NetworkNamespaces: Sendable {
  /// Why there can be none here; `nil` where there can.
  public static let obstacle: String? = {
    guard geteuid() == 0 else { return "network namespaces need root" }
    guard program != nil else { return "there is no ip" }
    do {
      withExtendedLifetime(try NetworkNamespaces(machines: 1)) {}
      return nil
    } catch {
      return "network namespaces cannot be made: \(error)"
    }
  }()

  /// How machines are numbered: in IPv4 and IPv6, or in IPv6 with nothing but the addresses of the link.
  public enum Addresses: Sendable {
    case both
    case linkLocal
  }

  /// A command that failed.
  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }

  /// The command that makes them.
  private static let program = ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip", "/bin/ip"]
    .first { FileManager.default.isExecutableFile(atPath: $0) }

  private let prefix: String
  private let directory: TemporaryDirectory
  private let machines: Int

  /// Makes machines that are up.
  ///
  /// - Parameters:
  ///   - machines: How many, 1 to 200.
  ///   - addresses: How they are numbered; the first machine is 10.77.0.1.
  /// - Throws: ``Failure``, with what the command says.
  public init(machines: Int, addresses: Addresses = .both) throws {
    prefix = "dn\(UInt32.random(in: 0 ... .max))"
    self.machines = machines
    directory = try TemporaryDirectory()
    let hub = prefix
    try ip("netns", "add", hub)
    try ip("-n", hub, "link", "add", "bridge", "type", "bridge", "mcast_snooping", "0", "forward_delay", "0")
    try ip("-n", hub, "link", "set", "bridge", "up")
    for machine in 0..<machines {
      let name = name(machine)
      try ip("netns", "add", name)
      try ip(
        "-n", hub, "link", "add", "port\(machine)", "type", "veth", "peer", "name", "eth0", "netns", name)
      try ip("-n", hub, "link", "set", "port\(machine)", "master", "bridge", "up")
      // An address can be used at once, since nobody else has it.
      try run(
        command(machine, ["sh", "-c", "echo 0 > /proc/sys/net/ipv6/conf/eth0/accept_dad || true"]))
      if case .both = addresses {
        try ip("-n", name, "addr", "add", "10.77.0.\(machine + 1)/24", "dev", "eth0")
      }
      try ip("-n", name, "link", "set", "lo", "up")
      try ip("-n", name, "link", "set", "eth0", "up")
    }
  }

  deinit {
    for name in (0..<machines).map(name) + [prefix] { try? ip("netns", "del", name) }
  }

  private func name(_ machine: Int) -> String { "\(prefix)m\(machine)" }

  /// What runs a command on a machine.
  public func command(_ machine: Int, _ arguments: [String]) -> [String] {
    [Self.program ?? "ip", "netns", "exec", name(machine)] + arguments
  }

  /// Takes a machine off the network, or puts it on again.
  public func set(_ machine: Int, up isUp: Bool) throws {
    try ip("-n", name(machine), "link", "set", "eth0", isUp ? "up" : "down")
  }

  /// Cuts a machine's line, or mends it, which the machine sees as the end of its carrier.
  public func set(lineOf machine: Int, up isUp: Bool) throws {
    try ip("-n", prefix, "link", "set", "port\(machine)", isUp ? "up" : "down")
  }

  private func ip(_ arguments: String...) throws { try run([Self.program ?? "ip"] + arguments) }

  /// Runs a command to its end.
  ///
  /// - Returns: What it wrote.
  /// - Throws: ``Failure`` when it fails, with what it wrote.
  @discardableResult
  public func run(_ command: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: command[0])
    process.arguments = Array(command.dropFirst())
    // A pipe would end only with the last of all programs that happen to be started meanwhile.
    let path = directory.file("output\(UInt64.random(in: 0 ... .max))")
    guard FileManager.default.createFile(atPath: path, contents: nil),
      let output = FileHandle(forWritingAtPath: path)
    else { throw Failure(description: "\(path) cannot be written") }
    process.standardOutput = output
    process.standardError = output
    try process.run()
    process.waitUntilExit()
    let text = try String(contentsOfFile: path, encoding: .utf8)
    try FileManager.default.removeItem(atPath: path)
    guard process.terminationStatus == 0 else {
      throw Failure(description: "\(command.dropFirst().joined(separator: " ")): \(text)")
    }
    return text
  }
}
