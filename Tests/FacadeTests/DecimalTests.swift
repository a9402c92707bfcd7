import DunlinKit
import Foundation
import TestKit
import Testing

/// A decimal is one value: its canonical text.
@Suite struct DecimalTests {
  struct Price: Codable, Equatable { var value: Decimal }

  let peer: Peer
  var prices: DunlinCollection { peer.store["prices"] }

  init() throws { peer = try Peer() }

  private func decimal(_ text: String) throws -> Decimal {
    try #require(Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")))
  }

  @Test(arguments: [
    ("1.30", "1.3"), ("1.27", "1.27"), ("100", "100"), ("-0.50", "-0.5"), ("0", "0"), ("-0", "0"),
    ("12345678901234567890123456789012345678", "12345678901234567890123456789012345678"),
    ("0.00000000000000000000000000000000000001", "0.00000000000000000000000000000000000001"),
    ("1e20", "100000000000000000000"), ("1.5e-7", "0.00000015"),
  ])
  func `a decimal is stored as its canonical text and read back exactly`(text: String, stored: String) throws
  {
    let price = Price(value: try decimal(text))
    for id in [try prices.upsert(price), try prices.upsert(["value": price.value])] {
      let document = try #require(try prices.findByID(id).exec())
      expectEqual(document["value"].string, stored)
      expectEqual(document["value"].decimal, price.value)
      try expectEqual(document.decoded(as: Price.self), price)
    }
  }

  @Test func `one of two decimals that were set apart stands in the end`() async throws {
    let other = try Peer("other")
    try await prices.upsert(["_id": "p", "value": try decimal("1.30")])
    try await other.store["prices"].upsert(["_id": "p", "value": try decimal("1.27")])
    let subscriptions = [peer, other].map { $0.store["prices"].findAll().subscribe() }
    try other.connect(to: peer)
    for peer in [peer, other] {
      try await peer.wait(for: "prices") { $0.first?["value"].string == "1.27" }
    }
    for subscription in subscriptions { subscription.cancel() }
  }

  @Test func `integers, doubles and counters are decoded as decimals`() throws {
    let cases: [(Any?, String)] = [
      (5, "5"), (Int64.max, "9223372036854775807"), (0.1, "0.1"), (-2.5, "-2.5"), (1e20, "1e20"),
      (DunlinCounter(7), "7"), ("01.50", "1.5"), ("1e3", "1000"),
    ]
    for (value, text) in cases {
      let id = try prices.upsert(["value": value])
      let price = try prices.findByID(id).exec()?.decoded(as: Price.self)
      expectEqual(price?.value, (try decimal(text)))
    }
  }

  @Test(arguments: [
    "", "1.3x", "x", " 1", "1.", ".5", "--1", "1e", "1e999", "0x1", "1,5", "NaN",
    "1.0000000000000000000000000000000000000001",
  ])
  func `a text that is no decimal number, or none that a decimal holds, is not decoded`(text: String) throws {
    let id = try prices.upsert(["value": text])
    let document = try #require(try prices.findByID(id).exec())
    #expect(document["value"].decimal == nil)
    let error = #expect(throws: DunlinError.self) { try document.decoded(as: Price.self) }
    #expect(error?.code == .decoding)
  }

  @Test func `a decimal that is not a number is refused`() {
    #expect(throws: DunlinError.self) { try prices.upsert(Price(value: .nan)) }
    #expect(throws: DunlinError.self) { try prices.upsert(["value": Decimal.nan]) }
  }

  @Test func `a number of JSON stays a number, however long it is`() throws {
    let json = #"{"value": 0.1, "more": [1.25, 3.14159265358979323846, 12345678901234567890]}"#
    let object = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
    let document = try #require(try prices.findByID(try prices.upsert(object)).exec())
    #expect(document["value"].value as? Double == 0.1)
    for index in 0..<3 { expect(document["more"][index].value is Double) }
  }

  @Test func `decimals of documents are compared, sorted and added exactly`() async throws {
    for (id, text) in ["0.1", "0.2", "10", "9", "-3", "100000000000000000000.01"].enumerated() {
      try await prices.upsert(["_id": id, "value": try decimal(text)])
    }
    func column(_ query: String) async throws -> [String?] {
      try await peer.store.execute(query: query).items.map { $0["r"].string }
    }
    #expect(
      try await column("SELECT value AS r FROM prices ORDER BY decimal(value)")
        == ["-3", "0.1", "0.2", "9", "10", "100000000000000000000.01"])
    #expect(try await column("SELECT SUM(decimal(value)) AS r FROM prices") == ["100000000000000000016.31"])
    #expect(
      try await column("SELECT value AS r FROM prices WHERE decimal(value) < 0.2 ORDER BY decimal(value)")
        == ["-3", "0.1"])
    #expect(
      try await column("SELECT MAX(decimal(value)) AS r FROM prices WHERE decimal(value) < decimal('50')")
        == ["10"])
    // Written, it is its text.
    try await peer.store.execute(query: "UPDATE prices SET value = decimal(value) * 2 WHERE _id = 0")
    #expect(try prices.findByID(0).exec()?["value"].string == "0.2")
  }
}
