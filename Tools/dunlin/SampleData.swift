import Foundation

/// The flights that the tool brings along, one gzipped JSON Lines file for each collection.
enum SampleData {
  /// Their collections, in the order in which they are best read.
  static let collections = ["airlines", "airports", "planes", "weather", "flights"]

  /// The directory that holds them: beside the executable or under `share`.
  ///
  /// A build leaves it beside the executable; an installation has `bin/dunlin` and `share/dunlin/Sample`.
  /// `Bundle.module` would find the first, but it ends the process when the files are not there.
  ///
  /// - Returns: An absolute path; `nil` when the files are in neither place.
  static func directory() -> String? {
    guard let executable = Bundle.main.executableURL?.resolvingSymlinksInPath() else { return nil }
    let bin = executable.deletingLastPathComponent()
    let candidates = [
      bin.appendingPathComponent("dunlin_dunlin.resources/Sample"),
      bin.appendingPathComponent("dunlin_dunlin.bundle/Sample"),
      bin.appendingPathComponent("../share/dunlin/Sample").standardizedFileURL,
    ]
    return candidates.map(\.path).first { FileManager.default.fileExists(atPath: $0 + "/flights.jsonl.gz") }
  }
}
