import CRDTCore
import Foundation
import TestKit

/// Documents in the wire form, made without a store and as odd as the form allows.
enum RawDocument {
  static let site = SiteID(high: 0xBAD, low: 2)

  /// The wall clock in milliseconds.
  static func now() -> UInt64 { UInt64(max(0, Date().timeIntervalSince1970 * 1_000)) }

  /// A fresh document of one site; its fields are in the byte order of their names.
  ///
  /// Each field has its node: kind and content.
  static func fresh(
    at reading: ClockReading, by site: SiteID = site, _ fields: [(key: [UInt8], node: [UInt8])] = []
  ) -> [UInt8] {
    var out = ByteWriter(capacity: 64)
    out.write(3 as UInt8)
    out.writeFixed(reading.rawValue)
    out.write(site)
    out.writeVarint(fields.count)
    for field in fields {
      out.writeBlob(field.key)
      out.write(field.node)
    }
    return out.bytes
  }

  /// The node of a value.
  static func node(_ value: Value) -> [UInt8] {
    var out = ByteWriter()
    ValueCodec.write(value, to: &out)
    return out.bytes
  }

  /// A deleted document: the stamp of its death, and a vector of that writer alone.
  static func tombstone(at reading: ClockReading, by site: SiteID = site) -> [UInt8] {
    var out = ByteWriter(capacity: 64)
    out.write(0 as UInt8)
    out.writeFixed(reading.rawValue)
    out.writeVarint(1)
    out.write(site)
    out.writeVarint(1)
    // The site's index, and the distances of birth and reading.
    for _ in 0..<3 { out.writeVarint(0) }
    // The life's writer is the first of the vector, and there are no entries.
    out.writeVarint(1)
    out.writeVarint(0)
    return out.bytes
  }

  /// A living document without fields to which so many sites have written; ids are random, from a number on.
  static func manySites(_ count: Int, from first: Int, at reading: ClockReading) -> [UInt8] {
    var random = SeededGenerator(seed: UInt64(first))
    let sites = (0..<count).map { index in
      SiteID(high: UInt64(first + index) << 32 | random.next() >> 32, low: random.next())
    }
    var out = ByteWriter(capacity: count * 22 + 64)
    out.write(1 as UInt8)
    out.writeFixed(reading.rawValue)
    out.writeVarint(count)
    for site in sites { out.write(site) }
    out.writeVarint(count)
    for index in 0..<count {
      out.writeVarint(index)
      out.writeVarint(0)
      out.writeVarint(0)
    }
    out.writeVarint(1)
    out.writeVarint(0)
    return out.bytes
  }
}
