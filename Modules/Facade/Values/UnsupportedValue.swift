import CRDTCore

/// A value that cannot be stored in a document; its path is collected as the error propagates.
struct UnsupportedValue: Error {
  var what = ""
  /// The message, in place of one that names the kind of value.
  var message: String?
  var isTooDeep = false
  /// The error that a type's own encoding threw.
  var underlying: (any Error)?
  /// The path, from the innermost step outwards.
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
