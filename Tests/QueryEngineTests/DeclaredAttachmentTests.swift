import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

/// Fields that a statement declares as ATTACHMENT.
@Suite struct DeclaredAttachmentTests {
  private let directory: TemporaryDirectory
  private let store: Store
  private let engine: Engine

  init() throws {
    directory = try TemporaryDirectory()
    store = try Store.open(
      at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
    engine = Engine(store: store, parameters: SystemParameters(), environment: .still)
    _ = try engine.execute("INSERT INTO cars DOCUMENTS ({'_id': 'c1', 'make': 'Saab', 'm': {'a': 1}})")
  }

  private func document() throws -> [TextKey: Value]? {
    try engine.execute("SELECT * FROM cars WHERE _id = 'c1'").rows.first?.values()
  }

  @Test(arguments: [
    ("UPDATE COLLECTION cars (photo ATTACHMENT) SET photo = 'a.jpg'", QueryError.Code.argument, "'photo'"),
    ("UPDATE COLLECTION cars (photo ATTACHMENT) SET photo = {'id': 'x', 'len': 1}", .argument, "'photo'"),
    ("UPDATE COLLECTION cars (photo ATTACHMENT) SET photo = make", .argument, "'photo'"),
    ("UPDATE COLLECTION cars (m MAP(p ATTACHMENT)) SET m.p = 1", .argument, "'m.p'"),
    ("UPDATE COLLECTION cars (m MAP(p ATTACHMENT)) SET m = {'p': 1}", .argument, "'m.p'"),
    ("UPDATE COLLECTION cars (m MAP(p ATTACHMENT)) SET m -> (p = 1)", .argument, "'m.p'"),
    ("UPDATE COLLECTION cars (photo ATTACHMENT) SET photo.name = 'x'", .unsupported, "ATTACHMENT field"),
    ("UPDATE COLLECTION cars (photo ATTACHMENT) UNSET photo.name", .unsupported, "ATTACHMENT field"),
    (
      "UPDATE COLLECTION cars (photo ATTACHMENT) APPLY photo INCREMENT BY 1", .unsupported, "ATTACHMENT field"
    ),
    ("INSERT INTO COLLECTION cars (photo ATTACHMENT) DOCUMENTS ({'photo': 'x'})", .argument, "'photo'"),
    (
      "INSERT INTO COLLECTION cars (photo ATTACHMENT) DOCUMENTS ({'_id': 'c1', 'photo': 2}) ON ID CONFLICT DO UPDATE",
      .argument, "'photo'"
    ),
    (
      "INSERT INTO COLLECTION cars (m MAP(p ATTACHMENT)) INITIAL DOCUMENTS ({'m': {'p': []}})", .argument,
      "'m.p'"
    ),
    ("INSERT INTO COLLECTION cars (make ATTACHMENT) SELECT make FROM cars", .argument, "'make'"),
  ])
  func `an attachment takes no plain value, and nothing is written`(
    text: String, code: QueryError.Code, part: String
  ) throws {
    let before = try document()
    let error = try #require(throws: QueryError.self) { try engine.execute(text) }
    #expect(error.code == code, "\(error)")
    #expect(error.message.contains(part), "\(error)")
    #expect(try document() == before)
    #expect(try engine.execute("SELECT * FROM cars").rows.count == 1)
  }

  @Test func `NULL, a stored attachment and the other fields are written`() throws {
    let token = Value.attachment(AttachmentToken(id: [1, 2], byteCount: 3))
    try store.write { try $0.upsert(["photo": token], id: DocumentID("c2"), into: "cars") }
    let declared = "COLLECTION cars (photo ATTACHMENT)"
    _ = try engine.execute("UPDATE \(declared) SET photo = NULL, make = 'Fiat' WHERE _id = 'c1'")
    #expect(try document()?["photo"] == .null)
    #expect(try document()?["make"] == .string("Fiat"))
    _ = try engine.execute("UPDATE \(declared) SET photo = photo WHERE _id = 'c2'")
    _ = try engine.execute("INSERT INTO \(declared) SELECT photo, 'c3' AS _id FROM cars WHERE _id = 'c2'")
    let copies = try engine.execute(
      "SELECT _id FROM cars WHERE type(photo) = type(:token)", arguments: ["token": token])
    #expect(copies.rows.count == 2)
    _ = try engine.execute("UPDATE \(declared) UNSET photo WHERE _id = 'c1'")
    #expect(try document()?["photo"] == nil)
    #expect(try engine.execute("SELECT * FROM \(declared)").rows.count == 3)
  }
}
