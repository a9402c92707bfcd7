import CRDTCore
import DocStore
import Logging
import QueryEngine
import Synchronization

/// Keeps system parameters, sync scopes among them, over a restart: in the file `parameters` of the database's directory.
///
/// The file holds what differs from the defaults, as JSON, and only its owner may read it.
final class KeptParameters: Sendable {
  static let name = "parameters"
  /// Bytes that the file may have.
  private static let byteLimit = 1 << 20

  private let file: SecretFile
  private let path: String
  /// Parameters that this release does not know, which stay for one that does.
  private let unknown = Mutex<[TextKey: Value]>([:])

  init(directory: HeldDirectory) {
    file = SecretFile(Self.name, in: directory)
    path = directory.name + "/" + Self.name
  }

  /// Sets the parameters to what was kept, and keeps their changes from now on.
  ///
  /// - Throws: `corrupt` for a damaged file, and for values that cannot be set: a scope that is lost would let documents out.
  ///   `permission` where others can read the file; `io`.
  func govern(_ parameters: SystemParameters, _ reporter: Reporter) throws {
    for (name, value) in try read().sorted(by: { $0.key < $1.key }) {
      do {
        try parameters.set(name.text, to: value)
      } catch let error as QueryError where error.code == .unknownParameter {
        unknown.withLock { $0[name] = value }
        reporter.logger.warning(
          "\(path) keeps '\(name.text)', which this release does not know; it has no effect")
      } catch {
        throw DunlinError(
          .corrupt,
          "\(path) keeps a value of '\(name.text)' that cannot be set: \(DunlinError(any: error).message)",
          context: ["path": path], underlying: error)
      }
    }
    parameters.keep { changed in try self.write(changed) }
  }

  /// Warns where something is kept that has no effect.
  func warnIfPresent(_ reporter: Reporter) {
    guard let kept = try? read(), !kept.isEmpty else { return }
    reporter.logger.warning(
      """
      \(path) keeps system parameters, and the configuration does not ask for them (keepsSystemParameters): they have no \
      effect
      """)
  }

  private func read() throws -> [TextKey: Value] {
    guard let bytes = try file.read(atMost: Self.byteLimit) else { return [:] }
    guard bytes.count <= Self.byteLimit, case .map(let values)? = try? JSON.parse(bytes) else {
      throw DunlinError(
        .corrupt, "\(path) is damaged: put it right, or remove it to begin with the defaults",
        context: ["path": path])
    }
    return values
  }

  private func write(_ changed: [TextKey: Value]) throws {
    let values = changed.merging(unknown.withLock { $0 }) { changed, _ in changed }
    let bytes = Array(JSON.text(of: .map(values)).utf8)
    guard bytes.count <= Self.byteLimit else {
      throw DunlinError(.limit, "system parameters that are kept take at most \(Self.byteLimit) bytes")
    }
    try file.replace(by: bytes)
  }
}

extension Dunlin {
  /// The files of a database's directory that go along with its data into a copy.
  package static var carriedFiles: [String] { [KeptParameters.name] }

  /// The files that belong to the device and not to the data: they stay where a copy takes the data's place.
  package static var ownFiles: [String] { [KeyFile.name] }
}
