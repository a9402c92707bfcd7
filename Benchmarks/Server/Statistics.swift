#if Server
  extension [Double] {
    var median: Double { quantile(0.5) }

    /// The value below which such a share lies; 0 where there is none.
    func quantile(_ share: Double) -> Double {
      guard !isEmpty else { return 0 }
      return sorted()[Swift.min(count - 1, Int(share * Double(count)))]
    }
  }
#endif
