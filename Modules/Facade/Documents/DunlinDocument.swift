public import CRDTCore

/// A document as it was when it was read; later writes do not change it.
///
/// `doc["color"].stringValue`, `doc["address"]["city"].string`, `doc["tags"][0].stringValue`.
public struct DunlinDocument: Sendable, Identifiable {
  /// The id of the document in its collection.
  public let id: DunlinDocumentID
  let fields: [TextKey: Value]
  private let origin: RowOrigin

  init(id: DocumentID, fields: [TextKey: Value], _ origin: RowOrigin) {
    self.id = DunlinDocumentID(id)
    self.fields = fields
    self.origin = origin
  }

  /// The value at a key, which may be missing.
  public subscript(key: String) -> DunlinDocumentPath {
    DunlinDocumentPath(fields[key], of: .init(id: id.id, origin: origin))
  }

  /// The whole document with its `_id`; a counter is its sum, a null is `nil`.
  public var value: [String: Any?] { fields.byString }

  /// The same with keys that are distinguished by their bytes.
  ///
  /// Two keys may be equal as `String` and have different bytes.
  public var exactValue: [TextKey: Any?] { fields.mapValues(\.any) }

  /// Decodes the whole document as a type of the application.
  ///
  /// - Throws: `decoding` with the collection, the document, the type, and the path of the value that does
  ///   not fit.
  public func decoded<T: Decodable>(as type: T.Type = T.self) throws(DunlinError) -> T {
    try decoded(as: type, row: nil)
  }

  fileprivate func decoded<T: Decodable>(as type: T.Type, row: Int?) throws(DunlinError) -> T {
    try ValueDecoding.decode(type, from: fields, of: id.id, row: row, origin)
  }

  /// The document as JSON, compact and with sorted keys; bytes are `{"$bytes": base64}`.
  public func jsonString() -> String { JSON.text(of: .map(fields)) }
}

extension Sequence<DunlinDocument> {
  /// Decodes the documents as a type of the application.
  ///
  /// - Throws: `decoding` with the row, counted from 0, the document, and the path of the value that does not
  ///   fit.
  public func decoded<T: Decodable>(as type: T.Type = T.self) throws(DunlinError) -> [T] {
    var decoded: [T] = []
    decoded.reserveCapacity(underestimatedCount)
    for document in self {
      decoded.append(try document.decoded(as: type, row: decoded.count))
    }
    return decoded
  }
}

extension DunlinDocument: Hashable {
  public static func == (a: DunlinDocument, b: DunlinDocument) -> Bool {
    a.id == b.id && a.fields == b.fields
  }
  public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
