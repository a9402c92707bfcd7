import CRDTCore

extension VersionVector {
  /// The vector in few letters: for each writer the ends of its site, birth and reading.
  var text: String {
    let parts = elements.map { element in
      let site = "\(element.writer.site)".prefix(4)
      return "\(site)@\(element.writer.birth.text):\(element.reading.text)"
    }
    return "[\(parts.joined(separator: " "))]"
  }
}

extension ClockReading {
  fileprivate var text: String { "\(milliseconds % 100_000_000).\(counter)" }
}
