"""What makes a finding of each rule about one raims capture, a file a theme."""
