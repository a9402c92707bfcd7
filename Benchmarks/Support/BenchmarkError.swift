/// What went wrong in a measurement, in words.
package struct BenchmarkError: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}
