import CRDTCore
import DocStore
import Logging
import QueryEngine
import Synchronization

/// Stores system parameters in the file `parameters` of the database's directory.
///
/// So they survive a restart; sync scopes are among them. The file has the values that differ from the
/// defaults, as JSON. Only its owner may read it.
final class KeptParameters: Sendable {
  static let name = "parameters"
  /// The greatest number of bytes of the file.
  private static let byteLimit = 1 << 20

  private let file: SecretFile
  private let path: String
  /// Parameters that this release does not know; they stay in the file for a release that does.
  private let unknown = Mutex<[TextKey: Value]>([:])

  init(directory: HeldDirectory) {
    file = SecretFile(Self.name, in: directory)
    path = directory.name + "/" + Self.name
  }

  /// Sets the parameters to the stored values, and stores their changes from now on.
  ///
  /// - Throws: `corrupt` for a damaged file, and for values that cannot be set, since a lost scope would let
  ///   documents leave the device. `permission` when others can read the file; `io`.
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

  /// Warns if stored parameters have no effect.
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
