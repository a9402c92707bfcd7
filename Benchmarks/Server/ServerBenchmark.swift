import ArgumentParser

#if Server
  import BenchmarkSupport
  import Foundation

  @main
  struct ServerBenchmark: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "server", abstract: "Measure the big peer with many devices and with web back ends.",
      subcommands: [MeasureCommand.self, BigPeerCommand.self, PostgresCommand.self, CrowdCommand.self],
      defaultSubcommand: MeasureCommand.self)
  }

  struct MeasureCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "measure", abstract: "Run the measurements.")

    enum Case: String, ExpressibleByArgument, CaseIterable {
      case http, sessions, sync, feed
    }

    @Option(help: "Devices that are connected at once, of the case sessions.")
    var devices = 1_000
    @Option(help: "Documents of the first sync.")
    var documents = 100_000
    @Option(help: "Devices that get them all at once.")
    var receivers = 50
    @Option(help: "Clients of HTTP, each of which waits for its answer before it asks again.")
    var clients = 16
    @Option(help: "For how long reads, and then writes, are measured.")
    var seconds = 10.0
    @Option(help: "Rounds of HTTP and of the feed; the median counts.")
    var rounds = 3
    @Option(help: "Where the server's files lie; they are to be on a disk.")
    var disk: String?
    @Option(help: "Where the devices' files lie; by default a memory file system where there is one.")
    var memory: String?
    @Option(
      name: .customLong("case"), help: "Which cases to run; all by default: \(Case.allCases.map(\.rawValue))")
    var cases: [Case] = []
    @Flag(help: "Devices and server without TLS and without proof.")
    var plain = false
    @Flag(help: "Small counts: for a check, not for figures.")
    var short = false
    @Flag(help: "Print every sample as JSON.")
    var json = false

    func validate() throws {
      let least = [devices, documents, receivers, clients, rounds].min() ?? 0
      guard least >= 1, devices >= 2 else {
        throw ValidationError("--devices is at least 2, and each other count at least 1")
      }
      guard seconds > 0 else { throw ValidationError("--seconds is above 0") }
      for (name, path) in [("--disk", disk), ("--memory", memory)] {
        var isDirectory: ObjCBool = false
        if let path,
          !FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) || !isDirectory.boolValue
        {
          throw ValidationError("\(name): there is no directory \(path)")
        }
      }
    }

    func run() async throws {
      Descriptors.raise()
      let memory =
        memory ?? (FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory())
      let report = try Scratch.with(in: [disk ?? NSTemporaryDirectory(), memory]) { scratch in
        var report = Report()
        let places = Places(
          server: scratch[0].appendingPathComponent("server"),
          devices: scratch[1].appendingPathComponent("devices"), isSecure: !plain)
        for name in cases.isEmpty ? Case.allCases : cases { try run(name, &report, places) }
        return report
      }
      print(json ? try report.json() : report.table)
    }

    private func run(_ name: Case, _ report: inout Report, _ places: Places) throws {
      for round in 1...([.http, .feed].contains(name) && !short ? rounds : 1) {
        try? FileHandle.standardError.write(contentsOf: Data("\(name.rawValue), run \(round)\n".utf8))
        let places = try places.fresh()
        defer { places.remove() }
        switch name {
        case .http:
          try HTTPCase(
            documents: short ? 1_000 : 10_000, clients: short ? min(clients, 4) : clients,
            seconds: short ? 0.5 : seconds
          ).run(&report, places)
        case .sessions:
          try SessionsCase(
            devices: short ? min(devices, 60) : devices, writes: short ? 3 : 20, isShort: short
          ).run(&report, places)
        case .sync:
          try FirstSyncCase(
            documents: short ? min(documents, 2_000) : documents,
            devices: short ? min(receivers, 4) : receivers
          ).run(&report, places)
        case .feed:
          try FeedCase(writes: short ? 50 : 1_000).run(&report, places)
        }
      }
    }
  }
#else
  @main
  struct ServerBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "server")

    func run() throws {
      throw ValidationError("this build has no big peer: build it with --traits Server")
    }
  }
#endif
