import Foundation
import Testing

/// The compiler for C of this system; the Swift toolchain has one.
enum CCompiler {
  /// Whether there is one.
  static var isPresent: Bool { name != nil }

  private static let name = ["cc", "clang"].first { (try? run($0, ["--version"])) == 0 }

  /// Compiles and links; the arguments are those of every such compiler.
  static func compile(_ arguments: [String]) throws {
    let status = try run(name ?? "cc", arguments)
    #expect(status == 0, "\(arguments)")
  }

  private static func run(_ name: String, _ arguments: [String]) throws -> Int32 {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [name] + arguments
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus
  }
}
