import CRDTCore

/// Any bytes as JSON: refused, or read to a value that comes back from its own text.
enum Target {
  static let seeds: [[UInt8]] = [
    #"{"_id":"a","n":-12.5e3,"big":9223372036854775808,"list":[1,true,null,"\u00e9\ud83d\ude00\n"],"m":{"k":{}}}"#,
    #"{"b":{"$bytes":"AQID"},"c":{"$counter":5},"d":{"$double":"nan"},"e":{"$$bytes":1}}"#,
    #"{"$attachment":{"bytes":1,"id":"AQI=","metadata":{"a":"b"}}}"#,
  ].map { Array($0.utf8) }

  static func run(_ input: [UInt8]) {
    for interpretsTags in [false, true] {
      guard let value = try? JSON.parse(input, options: .init(interpretsTags: interpretsTags)) else {
        continue
      }
      let text = JSON.text(of: value, options: .init(isLossless: interpretsTags))
      guard let again = try? JSON.parse(text, options: .init(interpretsTags: interpretsTags)) else {
        preconditionFailure("its own text is refused")
      }
      // Texts are compared, because a NaN is not equal to itself.
      precondition(JSON.text(of: again, options: .init(isLossless: interpretsTags)) == text, "another value")
      #if PLANTED_BUG
        if case .array(let elements) = value, !elements.isEmpty { _ = elements[elements.count] }
      #endif
    }
    var splitter = JSONLines(maximumLineBytes: 64)
    try? splitter.append(input.span.bytes) { _, line in precondition(line.byteCount <= 64) }
  }
}
