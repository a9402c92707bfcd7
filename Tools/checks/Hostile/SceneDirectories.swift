import Dispatch
import Foundation

/// The directories of all peers' stores; removed with each scene, and when this process ends or is stopped.
enum SceneDirectories {
  private static let name = "hostile-\(ProcessInfo.processInfo.processIdentifier)"

  /// On the disk, and in memory where the system has a place for that.
  private static let roots: [URL] = {
    let disk = FileManager.default.temporaryDirectory
    let memory = URL(filePath: "/dev/shm")
    return [disk, FileManager.default.fileExists(atPath: memory.path) ? memory : disk].map {
      $0.appendingPathComponent(name)
    }
  }()

  /// Removes everything when the process is interrupted; to be kept.
  static func removeWhenInterrupted() -> [any DispatchSourceSignal] {
    [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number)
      source.setEventHandler {
        removeAll()
        exit(128 + number)
      }
      source.resume()
      return source
    }
  }

  /// Removes all that is left.
  static func removeAll() {
    for root in roots { try? FileManager.default.removeItem(at: root) }
  }

  /// Makes two directories of a scene's own.
  static func make() throws -> (disk: URL, memory: URL) {
    let places = roots.map { $0.appendingPathComponent(UUID().uuidString) }
    for place in places {
      try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    }
    return (places[0], places[1])
  }
}
