import Foundation

/// What a user of the demo may try next.
enum NextSteps {
  static var text: String {
    """

      Next\(place):

        dunlin bench
        dunlin import store flights \\
          \(sample)
        dunlin query store "SELECT dest, COUNT(*) AS n FROM flights GROUP BY dest"
        dunlin serve store --listen 127.0.0.1:4040 --subscribe flights
        dunlin --help
    """
  }

  /// Where the program is, if the shell would not find it.
  private static var place: String {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    let isFound = folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/dunlin") }
    guard !isFound, let bin = Bundle.main.executableURL?.deletingLastPathComponent() else { return "" }
    return ", with \(short(bin.path)) in PATH"
  }

  private static var sample: String { short((SampleData.directory() ?? "Sample") + "/flights.jsonl.gz") }

  /// A path from here, where it leads down from here.
  private static func short(_ path: String) -> String {
    let here = FileManager.default.currentDirectoryPath + "/"
    return path.hasPrefix(here) ? String(path.dropFirst(here.count)) : path
  }
}
