package import CRDTCore

/// The few paths that model histories write to, by number.
package enum ModelPath {
  package static let names: [[TextKey]] = [
    ["a"], ["b"], ["c"], ["a", "x"], ["a", "y"], ["b", "x"], ["a", "c"], ["a", "x", "p"], ["a", "x", "q"],
  ]
  package static let count = names.count

  /// From the root down, without the path itself.
  package static let ancestors: [[Int]] = names.map { path in
    (1..<path.count).compactMap { names.firstIndex(of: Array(path[..<$0])) }
  }
  /// The paths one key longer.
  package static let children: [[Int]] = names.indices.map { path in
    names.indices.filter { names[$0].count == names[path].count + 1 && ancestors[$0].last == path }
  }
  package static let top: [Int] = names.indices.filter { names[$0].count == 1 }

  package static func overlap(_ a: Int, _ b: Int) -> Bool {
    a == b || ancestors[a].contains(b) || ancestors[b].contains(a)
  }
}
