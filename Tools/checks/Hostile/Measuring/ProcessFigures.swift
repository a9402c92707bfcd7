import CoreFoundation  // a structure of C belongs to the module that the compiler loads first: this one or Glibc
import Foundation
import Glibc

/// What the system says of a process.
struct ProcessFigures {
  /// Bytes of anonymous memory.
  let anonymousBytes: Int
  /// Seconds of processor, of all threads.
  let processorSeconds: Double

  /// - Returns: `nil` when there is no such process any more.
  init?(of processID: Int32) {
    guard let status = Self.read("/proc/\(processID)/status"),
      let stat = Self.read("/proc/\(processID)/stat"),
      let line = status.split(separator: "\n").first(where: { $0.hasPrefix("RssAnon:") }),
      let kibibytes = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first,
      let count = Int(kibibytes),
      let end = stat.lastIndex(of: ")")
    else { return nil }
    anonymousBytes = count << 10
    // After the name: state is the first field, user and system time the 12th and 13th.
    let fields = stat[end...].split(separator: " ").dropFirst()
    let ticks = fields.dropFirst(11).prefix(2).compactMap { Double($0) }.reduce(0, +)
    processorSeconds = ticks / Double(max(1, sysconf(Int32(_SC_CLK_TCK))))
  }

  private static func read(_ path: String) -> String? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    var buffer = [UInt8](repeating: 0, count: 8_192)
    let count = fread(&buffer, 1, buffer.count, file)
    return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
  }
}

/// Disk that a directory takes.
enum DiskUse {
  /// Bytes of the blocks of all files below `path`.
  static func bytes(of path: String) -> Int {
    guard let names = try? FileManager.default.subpathsOfDirectory(atPath: path) else { return 0 }
    return names.reduce(0) { sum, name in
      var status = stat()
      return stat("\(path)/\(name)", &status) == 0 ? sum + Int(status.st_blocks) * 512 : sum
    }
  }
}
