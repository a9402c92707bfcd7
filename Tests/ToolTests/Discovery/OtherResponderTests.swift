import Foundation
import Links
import PeerControl
import TestKit
import Testing

extension DiscoveryTests {
  /// This discovery beside responders that nobody here wrote: each finds the other.
  @Suite struct OtherResponderTests {
    private static let application = "dunlin-tool"
    private static let instance = "00000000000000000000000000000000"
    /// The subtype of peers of the application, today.
    private static let subtype =
      "_"
      + DiscoverySecret.unsafeDevelopment(application: application)
      .tag(ofDay: Int(Date().timeIntervalSince1970) / 86_400)

    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// Whether a command can be run.
    private static func works(_ command: [String]) -> Bool {
      let process = Process()
      process.executableURL = URL(filePath: "/usr/bin/env")
      process.arguments = command
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      guard (try? process.run()) != nil else { return false }
      process.waitUntilExit()
      return process.terminationStatus == 0
    }

    private static func obstacle(_ name: String, _ trial: [String]...) -> String? {
      NetworkNamespaces.obstacle ?? (trial.allSatisfy(works) ? nil : "there is no \(name)")
    }

    /// Starts a program on a machine, whose output goes to a file.
    private func start(
      _ command: [String], _ machine: Int, of machines: NetworkNamespaces, output: String
    ) throws -> Process {
      let process = Process()
      let whole = machines.command(machine, command)
      process.executableURL = URL(filePath: whole[0])
      process.arguments = Array(whole.dropFirst())
      try Data().write(to: URL(filePath: directory.file(output)))
      let file = FileHandle(forWritingAtPath: directory.file(output))
      process.standardOutput = file
      process.standardError = file
      try process.run()
      return process
    }

    /// Ends a program at once: one that was started here may be deaf to requests.
    private func end(_ process: Process) { kill(process.processIdentifier, SIGKILL) }

    /// Waits until a file has a line with all these words.
    private func wait(for words: [String], in output: String) async throws {
      while true {
        let text = (try? String(contentsOfFile: directory.file(output), encoding: .utf8)) ?? ""
        if text.split(separator: "\n").contains(where: { line in words.allSatisfy(line.contains) }) { return }
        try await Task.sleep(for: .milliseconds(50))
      }
    }

    // MARK: - python-zeroconf

    private static let zeroconf = obstacle("python-zeroconf", ["python3", "-c", "import zeroconf"])

    /// Looks for peers, and then for the list of services, and says what it finds.
    private static let zeroconfBrowser = """
      import sys, zeroconf, time
      zc = zeroconf.Zeroconf()
      kind = sys.argv[1]
      class Listener:
          def add_service(self, zc, kind, name):
              info = zc.get_service_info("_dunlin._tcp.local.", name.split(".")[0] + "._dunlin._tcp.local.")
              print("found", kind, info and (info.port, sorted(info.parsed_addresses()), info.properties), flush=True)
          def remove_service(self, zc, kind, name): print("lost", kind, flush=True)
          def update_service(self, zc, kind, name): pass
      browsers = [zeroconf.ServiceBrowser(zc, kind, Listener()) for kind in ("_dunlin._tcp.local.", kind)]
      print("services", zeroconf.ZeroconfServiceTypes.find(zc=zc, timeout=2), flush=True)
      time.sleep(100)
      """

    /// Takes connections, and advertises where.
    private static let zeroconfPeer = """
      import socket, sys, zeroconf
      listener = socket.create_server(("10.77.0.2", 0))
      zc = zeroconf.Zeroconf()
      info = zeroconf.ServiceInfo(
          sys.argv[1], sys.argv[2] + "._dunlin._tcp.local.", port=listener.getsockname()[1],
          addresses=[socket.inet_aton("10.77.0.2")], server="somebody.local.")
      zc.register_service(info)
      print("connection from", listener.accept()[1][0], flush=True)
      zc.close()
      """

    @Test(.enabled(if: zeroconf == nil, "skipped: \(zeroconf ?? "")"))
    func `python-zeroconf finds a peer, where it is, and that it goes`() async throws {
      let machines = try NetworkNamespaces(machines: 2)
      let peer = try await NeighbourPeer("a secret name", on: machines, 0, in: directory)
      let subtype = Self.subtype + "._sub._dunlin._tcp.local."
      let browser = try start(
        ["python3", "-c", Self.zeroconfBrowser, subtype], 1, of: machines, output: "found")
      defer { end(browser) }
      try await wait(for: ["found _dunlin._tcp.local.", "'10.77.0.1'", "'fe80::"], in: "found")
      try await wait(for: ["found \(subtype)", "'10.77.0.1'"], in: "found")
      try await wait(for: ["services", "'_dunlin._tcp.local.'"], in: "found")
      peer.leave()
      try await wait(for: ["lost \(subtype)"], in: "found")
      let all = try String(contentsOfFile: directory.file("found"), encoding: .utf8)
      #expect(!all.contains("secret") && !all.contains(Self.application))
    }

    @Test(.enabled(if: zeroconf == nil, "skipped: \(zeroconf ?? "")"))
    func `a peer finds what python-zeroconf advertises, and dials it`() async throws {
      let machines = try NetworkNamespaces(machines: 2)
      let kind = Self.subtype + "._sub._dunlin._tcp.local."
      let other = try start(
        ["python3", "-c", Self.zeroconfPeer, kind, Self.instance], 1, of: machines, output: "dialed")
      let peer = try await NeighbourPeer("peer", on: machines, 0, in: directory)
      defer {
        end(other)
        peer.process.stop()
      }
      try await wait(for: ["connection from 10.77.0.1"], in: "dialed")
    }

    // MARK: - A program that shares nothing

    private static let python = obstacle("python3", ["python3", "--version"])

    /// Has the port of multicast DNS for itself.
    private static let selfish = """
      import socket, time
      sockets = [socket.socket(family, socket.SOCK_DGRAM) for family in (socket.AF_INET, socket.AF_INET6)]
      sockets[1].setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
      for each in sockets: each.bind(("", 5353))
      print("bound", flush=True)
      time.sleep(100)
      """

    @Test(.enabled(if: python == nil, "skipped: \(python ?? "")"))
    func `a program that has the port for itself is told of, and waited for`() async throws {
      let machines = try NetworkNamespaces(machines: 2)
      let selfish = try start(["python3", "-c", Self.selfish], 0, of: machines, output: "selfish")
      try await wait(for: ["bound"], in: "selfish")
      let left = try await NeighbourPeer("left", on: machines, 0, in: directory)
      let right = try await NeighbourPeer("right", on: machines, 1, in: directory)
      defer { for peer in [left, right] { peer.process.stop() } }
      while !left.process.log.contains(where: { $0.contains("port 5353 for itself") }) {
        try await Task.sleep(for: .milliseconds(50))
      }
      #expect(try await left.connections == 0)
      end(selfish)
      try await left.wait(forConnections: 1)
    }

    // MARK: - Hostile packets

    /// A program that sends invalid data to everybody on the link.
    ///
    /// It sends names that loop, messages that are too long or come from elsewhere, answers of a thousand
    /// peers that do not exist, and endless questions.
    private static let hostile = """
      import os, random, socket, struct, subprocess, sys
      tag = sys.argv[1].encode()
      subprocess.run(["ip", "addr", "add", "192.0.2.7/32", "dev", "eth0"], check=True)
      def sender(address, port=5353):
          s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
          s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
          s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
          s.bind((address, port))
          s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("10.77.0.3"))
          return lambda data: s.sendto(data, ("224.0.0.251", 5353))
      def name(*labels): return b"".join(bytes([len(l)]) + l for l in labels) + b"\\0"
      service = (b"_dunlin", b"_tcp", b"local")
      def record(name, kind, data): return name + struct.pack(">HHIH", kind, 1, 4500, len(data)) + data
      def answer(*records): return struct.pack(">6H", 0, 0x8400, 0, len(records), 0, 0) + b"".join(records)
      def peer(label, address, port):
          instance = name(label, *service)
          return answer(
              record(name(tag, b"_sub", *service), 12, instance),
              record(instance, 33, struct.pack(">3H", 0, 0, port) + name(label, b"local")),
              record(name(label, b"local"), 1, socket.inet_aton(address)))
      honest, outside, resolver = sender("10.77.0.3"), sender("192.0.2.7"), sender("10.77.0.3", 0)
      header = struct.pack(">6H", 0, 0x8400, 0, 1, 0, 0)
      question = struct.pack(">6H", 0, 0, 1, 0, 0, 0) + name(*service) + struct.pack(">2H", 12, 1)
      for _ in range(50):
          for loop in (b"\\xc0\\x0c", b"\\xc0\\x0e\\xc0\\x0c", b"\\x01a\\xc0\\x0c"): honest(header + loop + bytes(10))
          honest(header + os.urandom(random.randrange(400)))
          honest(peer(b"big", "10.77.0.9", 9) + bytes(9500))
          outside(peer(b"elsewhere", "10.77.0.9", 9))
          resolver(peer(b"resolver", "10.77.0.9", 9))
          for _ in range(20):
              honest(peer(b"%030d" % random.randrange(1000), "10.77.0.%d" % random.randrange(100, 200), 9))
              resolver(question)
      print("done", flush=True)
      """

    @Test(.enabled(if: python == nil, "skipped: \(python ?? "")"))
    func `hostile packets keep peers from nothing that stands`() async throws {
      let machines = try NetworkNamespaces(machines: 3)
      let left = try await NeighbourPeer("left", on: machines, 0, in: directory)
      let right = try await NeighbourPeer("right", on: machines, 1, in: directory)
      defer { for peer in [left, right] { peer.process.stop() } }
      try await left.wait(forConnections: 1)
      let hostile = try start(
        ["python3", "-c", Self.hostile, Self.subtype], 2, of: machines, output: "hostile")
      defer { end(hostile) }
      try await wait(for: ["done"], in: "hostile")
      try await left.write("after all that")
      try await right.wait(forDocuments: ["after all that"])
      #expect(try await left.connections == 1)
      // Other names take all room for candidates. A peer that starts now is still found by its own
      // announcements.
      let late = try await NeighbourPeer("late", on: machines, 0, in: directory)
      defer { late.process.stop() }
      try await late.wait(forDocuments: ["after all that"])
    }

    // MARK: - avahi

    private static let avahi = obstacle(
      "avahi", ["avahi-daemon", "--version"], ["avahi-browse", "--version"], ["dbus-daemon", "--version"],
      ["getent", "passwd", "avahi"])

    /// Starts avahi and its message bus on a machine.
    ///
    /// Commands on that machine find it by the returned environment.
    private func startAvahi(_ machine: Int, of machines: NetworkNamespaces) async throws -> (
      [Process], environment: String
    ) {
      let address = "unix:path=\(directory.file("bus\(machine)"))"
      try """
      <busconfig><type>system</type><listen>\(address)</listen><auth>EXTERNAL</auth>
      <policy context="default"><allow user="*"/><allow own="*"/><allow send_type="method_call"/>
      <allow send_type="signal"/><allow send_destination="*"/><allow receive_sender="*"/></policy></busconfig>
      """.write(toFile: directory.file("bus.conf"), atomically: true, encoding: .utf8)
      let bus = try start(
        ["dbus-daemon", "--nofork", "--config-file", directory.file("bus.conf")], machine, of: machines,
        output: "bus")
      while !FileManager.default.fileExists(atPath: directory.file("bus\(machine)")) {
        try await Task.sleep(for: .milliseconds(20))
      }
      // Its directory of state is one of its own, since the machine may run another one.
      let script = """
        mkdir -p /run/avahi-daemon; mount -t tmpfs none /run/avahi-daemon
        DBUS_SYSTEM_BUS_ADDRESS=\(address) exec avahi-daemon --no-drop-root --no-chroot --no-rlimits
        """
      let daemon = try start(["sh", "-c", script], machine, of: machines, output: "avahi")
      try await wait(for: ["Server startup complete"], in: "avahi")
      return ([daemon, bus], "DBUS_SYSTEM_BUS_ADDRESS=\(address)")
    }

    @Test(.enabled(if: avahi == nil, "skipped: \(avahi ?? "")"), arguments: [0, 1])
    func `avahi finds a peer on its own machine and on another one`(machine: Int) async throws {
      let machines = try NetworkNamespaces(machines: 2)
      let (processes, environment) = try await startAvahi(1, of: machines)
      let peer = try await NeighbourPeer("peer", on: machines, machine, in: directory)
      let browser = try start(
        [
          "env", environment, "stdbuf", "-oL", "avahi-browse", "-r", "-p",
          "\(Self.subtype)._sub._dunlin._tcp",
        ], 1,
        of: machines,
        output: "found")
      defer { for process in [browser] + processes { end(process) } }
      let address = "10.77.0.\(machine + 1)"
      try await wait(for: ["=;eth0;IPv4;", "_dunlin._tcp;local;", ";\(address);"], in: "found")
      peer.leave()
      try await wait(for: ["-;eth0;IPv4;"], in: "found")
    }

    @Test(.enabled(if: avahi == nil, "skipped: \(avahi ?? "")"), arguments: [0, 1])
    func `a peer finds what avahi advertises on its own machine and on another one`(machine: Int) async throws
    {
      let machines = try NetworkNamespaces(machines: 2)
      let (processes, environment) = try await startAvahi(1, of: machines)
      let listener = try start(
        [
          "python3", "-c",
          "import socket; s = socket.create_server(('', 4040)); print('connection from', s.accept()[1][0], flush=True)",
        ], 1, of: machines, output: "dialed")
      let publisher = try start(
        [
          "env", environment, "avahi-publish", "-s", "--subtype=\(Self.subtype)._sub._dunlin._tcp",
          Self.instance, "_dunlin._tcp", "4040",
        ], 1, of: machines, output: "published")
      let peer = try await NeighbourPeer("peer", on: machines, machine, in: directory)
      defer {
        for process in [publisher, listener] + processes { end(process) }
        peer.process.stop()
      }
      try await wait(for: ["connection from 10.77.0.\(machine + 1)"], in: "dialed")
    }
  }
}
