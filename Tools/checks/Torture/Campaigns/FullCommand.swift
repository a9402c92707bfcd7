import ArgumentParser
import CRDTCore
import DocStore
import Glibc

/// Runs out of room in every way there is.
struct FullCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "full", abstract: "Full disks, full maps and limits on files.")

  private static let hangSeconds: UInt32 = 20

  @OptionGroup var options: CampaignOptions

  @Option(help: "Times to fill each place, with other random numbers.")
  var rounds = 2

  func run() throws {
    try part("a map of 1 MiB") { script, _ in
      script.options.mapBytes = 1 << 20
      return try script.run()
    }
    for mebibytes in [1, 2, 8] { try disk(of: mebibytes << 20, "a disk of \(mebibytes) MiB") }
    try part("files of at most 1 MiB") { script, limits in
      limits.limitFiles(toBytes: 1 << 20)
      script.makeRoom = { limits.limitFiles(toBytes: nil) }
      return try script.run()
    }
    try CampaignReport.control("full control, a disk that swallows a write", expecting: FullScript.defects) {
      try inChild { path, _ in
        let shim = try Shim()
        shim.watch(path)
        shim.arm(.write, n: 60, forEver: false, code: Shim.swallowedWrite)
        var script = FullScript(path: path + "/db", seed: options.seed)
        script.options.mapBytes = 1 << 20
        return try script.run()
      }
    }
  }

  /// Fills a memory file system of its own, which only a process that may mount can have.
  private func disk(of bytes: Int, _ name: String) throws {
    if let code = try mountError() {
      return CampaignReport.skipped(
        "full: \(name)", "this process may not mount a file system (errno \(code))")
    }
    try part(name) { script, limits in
      let root = String(script.path.dropLast(3))
      guard limits.takeMounts() == nil else { throw Failure(.harness, "no mounts of its own") }
      try limits.mountMemory(at: root, bytes: bytes)
      // What a user deletes when there is no room any more.
      let other = root + "/other"
      try Files.write([UInt8](repeating: 7, count: bytes / 4), to: other)
      script.makeRoom = { unlink(other) }
      return try script.run()
    }
  }

  /// Why mounts cannot be had; `nil` where they can.
  private func mountError() throws -> Int32? {
    let limits = try ProcessLimits()
    let lines = try Child.run { descriptor in
      if let code = limits.takeMounts() { Child.write("\(code)\n", to: descriptor) }
    }
    return lines.first.flatMap { Int32($0) }
  }

  private func part(_ name: String, _ body: (inout FullScript, ProcessLimits) throws -> Tally) throws {
    let seed = options.seed
    try CampaignReport.part("full: \(name)", replay: "full --seed \(seed) --rounds \(rounds)") {
      var tally = Tally()
      for round in 0..<rounds {
        tally.add(
          try inChild { path, limits in
            var script = FullScript(path: path + "/db", seed: seed &+ UInt64(round))
            return try body(&script, limits)
          })
      }
      return tally
    }
  }

  /// Runs a script in a process of its own, which may change what it likes of its surroundings.
  private func inChild(_ body: (String, ProcessLimits) throws -> Tally) throws -> Tally {
    let limits = try ProcessLimits()
    return try Scratch.with { scratch in
      let lines = try Child.run { descriptor in
        alarm(Self.hangSeconds)
        Child.write(try body(scratch.path, limits).lines, to: descriptor)
      }
      return Tally(lines: lines.joined(separator: "\n"))
    }
  }
}
