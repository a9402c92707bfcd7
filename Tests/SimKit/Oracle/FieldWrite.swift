import CRDTCore
import DocStore

/// One write of an application to a document, as the reference model takes it.
struct FieldWrite {
  /// What it sets, by field; `nil` removes.
  let fields: [(field: ModelField, value: Value?)]
  /// Whether the document lives by it, or is deleted by it; `nil` when it leaves that alone.
  let life: Bool?
  let reading: ClockReading
  let site: SiteID
  /// What the writer knew of the document.
  let known: VersionVector
}

/// The fields that the model follows: each holds one value at a time, and nothing lies below it.
enum ModelField: Int, CaseIterable {
  case kind, n, color, by, pad, any

  var name: String { "\(self)" }
}

extension EditPlan {
  /// The change's writes to the model's fields and to the document's life; `nil` if the model ignores it.
  func modelled(_ fields: [TextKey: Value]) -> (fields: [(field: ModelField, value: Value?)], life: Bool?)? {
    switch kind {
    case .upsert, .insertIfAbsent, .pad:
      (ModelField.allCases.compactMap { field in fields[field.name].map { (field, $0) } }, true)
    case .set: ([(.n, fields["n"])], nil)
    case .removeField: ([(value % 2 == 0 ? .color : .pad, nil)], nil)
    case .delete: ([], false)
    case .changeType: ([(.any, Self.values[value % Self.values.count])], nil)
    case .increment, .restart, .insertDefault, .nested, .replaceMap: nil
    }
  }
}

extension WriteTransaction {
  /// What is known of a document here, deleted or not.
  func vector(of id: DocumentID, in collection: String) throws -> VersionVector {
    guard let known = try self.collection(collection) else { return VersionVector() }
    let sites = sites
    return try withRecord(known, id) { record, _ in try record.vector(sites: sites) } ?? VersionVector()
  }
}
