import Foundation

/// Runs the built `dunlin` as a user would.
struct Tool {
  struct Outcome {
    var status: Int32
    var output: String
    var errors: String
  }

  /// The program that the build put beside the tests.
  static var path: String { path(of: "dunlin") }

  /// A program that the build put beside the tests.
  static func path(of program: String) -> String {
    var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    while folder.path != "/" {
      let candidate = folder.appendingPathComponent(program).path
      var isFolder: ObjCBool = false
      if FileManager.default.fileExists(atPath: candidate, isDirectory: &isFolder), !isFolder.boolValue {
        return candidate
      }
      folder.deleteLastPathComponent()
    }
    return program
  }

  static func process(
    _ arguments: [String], environment: [String: String] = [:], program: String = "dunlin"
  ) -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path(of: program))
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    return process
  }

  /// Runs to the end; output goes through files, so that no pipe can fill up.
  static func run(
    _ arguments: [String], in folder: String, input: String = "", environment: [String: String] = [:],
    program: String = "dunlin"
  ) throws -> Outcome {
    let process = process(arguments, environment: environment, program: program)
    let (output, errors, source) = (folder + "/output", folder + "/errors", folder + "/input")
    for file in [output, errors] { try Data().write(to: URL(fileURLWithPath: file)) }
    try Data(input.utf8).write(to: URL(fileURLWithPath: source))
    process.standardInput = FileHandle(forReadingAtPath: source)
    process.standardOutput = FileHandle(forWritingAtPath: output)
    process.standardError = FileHandle(forWritingAtPath: errors)
    try process.run()
    process.waitUntilExit()
    return Outcome(
      status: process.terminationStatus, output: try String(contentsOfFile: output, encoding: .utf8),
      errors: try String(contentsOfFile: errors, encoding: .utf8))
  }

  /// Whether this user may mount a directory anew, in a namespace of its own.
  static let mountsReadOnly: Bool = {
    guard let outcome = try? shell("mount --bind /tmp /tmp && mount -o remount,bind,ro /tmp", []) else {
      return false
    }
    return outcome.terminationStatus == 0
  }()

  /// As ``run(_:in:input:environment:program:)``, where nothing can be written below `place`.
  static func run(
    readingOnly place: String, _ arguments: [String], in folder: String, program: String = "dunlin"
  ) throws -> Outcome {
    let (output, errors) = (folder + "/output", folder + "/errors")
    let script =
      #"mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && out=$2 err=$3 && shift 3 && "$@" >"$out" 2>"$err""#
    let process = try shell(script, [place, output, errors, path(of: program)] + arguments)
    return Outcome(
      status: process.terminationStatus, output: try String(contentsOfFile: output, encoding: .utf8),
      errors: try String(contentsOfFile: errors, encoding: .utf8))
  }

  /// Runs a script in a namespace of mounts of its own.
  private static func shell(_ script: String, _ arguments: [String]) throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["unshare", "--mount", "sh", "-c", script, "sh"] + arguments
    try process.run()
    process.waitUntilExit()
    return process
  }
}
