import CRDTCore
import DocStore
import Synchronization

/// A type that is `Identifiable` by a field `id`, and whose documents have no `_id`.
///
/// Each write of such a value without `_id` makes a new document.
struct UnnamedType: Sendable {
  let name: String
  fileprivate let identifier: ObjectIdentifier

  /// Looks at an encoded value.
  ///
  /// There is no such type if the fields name the document, or if the value has no id.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - fields: The fields that it encodes.
  init?<T>(_ value: T, encodedAs fields: [TextKey: Value]) {
    guard fields["_id"] == nil, fields["id"] != nil, value is any Identifiable else { return nil }
    name = "\(T.self)"
    identifier = ObjectIdentifier(T.self)
  }

  /// Says what happens, and what to do.
  var hint: String {
    """
    \(name) is Identifiable by its field id and has no field _id, so each write of one makes a new document: \
    name the field _id, for example with CodingKeys
    """
  }
}

/// The types for which a hint is in the log already.
final class UnnamedTypes: Sendable {
  private let known = Mutex<Set<ObjectIdentifier>>([])

  /// Logs the hint for a type, once for each type.
  func log(_ type: UnnamedType, _ reporter: Reporter) {
    guard known.withLock({ $0.insert(type.identifier).inserted }) else { return }
    reporter.log(.warning, type.hint)
  }
}
