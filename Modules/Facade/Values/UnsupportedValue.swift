import CRDTCore

/// A value that has no form in a document; its path is gathered on the way out.
struct UnsupportedValue: Error {
  var what = ""
  /// Said in place of what a document cannot hold.
  var message: String?
  var isTooDeep = false
  /// What a type's own encoding threw.
  var underlying: (any Error)?
  /// From the innermost step outwards.
  var path: [String] = []

  func inside(_ step: String) -> UnsupportedValue {
    var copy = self
    copy.path.append(step)
    return copy
  }

  func located(below prefix: [String]) -> DunlinError {
    if isTooDeep { return DunlinError(.limit, "a value is nested deeper than \(Limits.depth) levels") }
    let place = (prefix + path.reversed()).joined(separator: ".")
    let message = message ?? "a document cannot hold \(what)"
    return DunlinError(
      .unsupportedValue, "\(message)\(place.isEmpty ? "" : " (at \(place))")",
      context: place.isEmpty ? [:] : ["path": place], underlying: underlying)
  }
}
