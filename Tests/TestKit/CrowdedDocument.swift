package import CRDTCore

/// Documents on the wire that many sites have written, also more than a document may have.
package enum CrowdedDocument {
  package static func site(_ number: Int) -> SiteID { SiteID(high: 0xC0DE, low: UInt64(number) + 1) }

  /// A living document that each of the sites has written once, one millisecond after the other.
  ///
  /// Its field `n` is the number of the last one.
  package static func wire(_ sites: Range<Int>, at milliseconds: UInt64 = 1_700_000_000_000) -> [UInt8] {
    func reading(_ number: Int) -> UInt64 {
      ClockReading(milliseconds: milliseconds + UInt64(number)).rawValue
    }
    let last = reading(sites.upperBound - 1)
    var out = ByteWriter()
    // One writer alone has another form.
    out.write(sites.count == 1 ? 3 : 1 as UInt8)
    out.writeFixed(last)
    if sites.count > 1 { out.writeVarint(sites.count) }
    for number in sites { out.write(site(number)) }
    if sites.count > 1 {
      out.writeVarint(sites.count)
      for (index, number) in sites.enumerated() {
        out.writeVarint(index)
        out.writeSignedVarint(Int64(bitPattern: reading(number) &- last))
        out.writeSignedVarint(0)
      }
      out.writeVarint(sites.count)
    }
    out.writeVarint(1)
    out.writeString("n")
    ValueCodec.write(.int(Int64(sites.upperBound - 1)), to: &out)
    return out.bytes
  }
}
